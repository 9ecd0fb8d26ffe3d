"""Handlers that do what no handler should: to their process, and to their neighbours."""

import asyncio
import contextlib
import ctypes
import logging
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from uuid_utils.compat import uuid7

from apps.handlers import Context, Result, current, handler
from tests.workload.effect import effect


@handler("die")
def die(ctx: Context, payload: Any) -> None:
    """End the process, as soon as enough others run in it."""
    with effect(ctx):
        time.sleep(payload.get("seconds", 0))
        print("last words")
        if payload["how"] == "exit":
            os._exit(7)
        if payload["how"] == "segfault":
            ctypes.string_at(0)
        os.kill(os.getpid(), getattr(signal, payload["how"]))


@handler("eat")
def eat(ctx: Context, payload: Any) -> None:
    """Take so many MiB, and keep them for a while or for ever."""
    taken = bytearray(payload["mib"] << 20)
    taken[::4096] = b"x" * len(taken[::4096])
    if payload.get("keep"):
        _kept.append(taken)
    if payload.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)


_kept: list[bytearray] = []


@handler("hog")
def hog(ctx: Context, payload: Any) -> None:
    """Hold the interpreter for seconds, in one call of C."""
    with effect(ctx):
        length = 20
        while (took := _match(length)) < 0.05:
            length += 1
        while took < payload["seconds"]:
            length, took = length + 1, took * 2
        _match(length)


def _match(length: int) -> float:
    began = time.perf_counter()
    re.fullmatch(r"(?:a|a)*b", "a" * length)
    return time.perf_counter() - began


@handler("block")
async def block(ctx: Context, payload: Any) -> None:
    """Block the event loop of whatever it runs in."""
    with effect(ctx):
        time.sleep(payload["seconds"])  # noqa: ASYNC251 — that is the fault


def _no_output() -> None:
    sys.stdout = sys.stderr = None


def _no_folder() -> None:
    gone = tempfile.mkdtemp()
    os.chdir(gone)
    Path(gone).rmdir()


def _no_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)


def _write_everywhere() -> None:
    for number in range(3, 256):
        with contextlib.suppress(OSError):
            os.write(number, b"\xff" * 64)


def _no_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


MEDDLING = {
    "stdout": _no_output,
    "logging": logging.shutdown,
    "folder": _no_folder,
    "signals": _no_signals,
    "descriptors": lambda: os.closerange(0, 21),
    "sockets": _write_everywhere,
    "parent": _no_parent,
}


@handler("meddle")
async def meddle(ctx: Context, payload: Any) -> None:
    """Take away what the process stands on. As a task: it runs in the main thread, where the most can be done."""
    MEDDLING[payload["what"]]()
    raise ValueError(f"meddled with {payload['what']}")


@handler("litter")
def litter(ctx: Context, payload: Any) -> Result:
    """Leave a process behind; then stay, or go."""
    left = subprocess.Popen(["sleep", "600"], start_new_session=payload.get("away", False))
    ctx.progress(left.pid, stage="left")
    with effect(ctx):
        time.sleep(payload["seconds"])
    return Result(data=left.pid)


@handler("speak", timeout=20)
def speak(ctx: Context, payload: Any) -> None:
    print("printed")
    print("to stderr", file=sys.stderr)
    sys.stdout.write("half a line, ")
    sys.stdout.write("the other half\nno end")
    logging.getLogger("some.library").warning("logged %d", 7)
    warnings.warn("not captured as a line of its own", stacklevel=1)
    try:
        raise KeyError("inner")
    except KeyError:
        logging.getLogger("some.library").exception("went wrong")
    for number in range(payload.get("lines", 0)):
        print(f"line {number}")
    time.sleep(payload.get("seconds", 0))


@handler("speak.patient")
async def speak_as_a_task(ctx: Context, payload: Any) -> None:
    for number in range(3):
        print(f"{payload} {number}")
        await asyncio.sleep(0)


@handler("where")
def where(ctx: Context, payload: Any) -> list[int]:
    """Which process, and its parent."""
    return [os.getpid(), os.getppid()]


@handler("new.ids")
def new_ids(ctx: Context, payload: Any) -> list[str]:
    """Ids made in the very first moments of a process."""
    made = [str(uuid7()) for _ in range(100)]
    time.sleep(payload["seconds"])
    return made


@handler("speak.long")
def speak_long(ctx: Context, payload: Any) -> None:
    print("x" * payload)


@handler("freeze")
async def freeze(ctx: Context, payload: Any) -> None:
    """Block the event loop, and write nothing down."""
    time.sleep(payload)  # noqa: ASYNC251 — that is the fault


@handler("effect.none")
async def wait(ctx: Context, payload: Any) -> None:
    await asyncio.sleep(payload)


@handler("end.now")
async def end_now(ctx: Context, payload: Any) -> None:
    os._exit(7)


@handler("multiply")
def multiply(ctx: Context, payload: Any) -> list[Any]:
    """What multiprocessing's children do when they are told to end, and when they are told to work."""
    context = multiprocessing.get_context("fork")
    sleeper = context.Process(target=time.sleep, args=(600,))
    sleeper.start()
    sleeper.terminate()
    sleeper.join()
    with context.Pool(2) as pool:
        squares = pool.map(_talk_and_square, range(3))
        pool.map_async(time.sleep, [600])
    return [sleeper.exitcode, squares]


def _talk_and_square(number: int) -> int:
    print(f"squaring {number}")
    logging.getLogger("some.library").warning("squaring %d", number)
    ctx = current.get()
    assert ctx is not None
    ctx.log("squaring")
    ctx.progress(number)
    return number * number


@handler("copy.itself")
async def copy_itself(ctx: Context, payload: Any) -> str:
    """The copy goes on as if it were the executor."""
    return "copy" if os.fork() == 0 else "original"
