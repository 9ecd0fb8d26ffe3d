"""Handlers that do what no handler should: to their process, to their neighbours, to whoever reads their errors."""

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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from uuid_utils.compat import uuid7

from apps.handlers import Context, Publish, Result, Retry, handler
from tests.workload.effect import effect


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


class Demanding(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__()


def _chain(length: int) -> BaseException:
    error: BaseException = ValueError("the first")
    for number in range(length):
        later = ValueError(f"number {number}")
        later.__cause__ = error
        error = later
    return error


def _circle() -> BaseException:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    return one


def _deep(left: int) -> int:
    return _deep(left - 1) + 1


def _holding() -> BaseException:
    error = ValueError("heavy")
    error.heavy = bytearray(100_000_000)  # type: ignore[attr-defined]
    return error


class _LyingText(str):
    __slots__ = ()

    def __len__(self) -> int:
        raise ZeroDivisionError


class Lying(Exception):
    def __str__(self) -> str:
        return _LyingText("a text that lies about its length")


class _Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise ZeroDivisionError


class Nameless(Exception, metaclass=_Nameless):
    pass


class Masked(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise ZeroDivisionError


class Careless(Retry):
    def __init__(self) -> None:
        """Without Retry's own."""


RAISED = {
    "unprintable": Unprintable,
    "demanding": lambda: Demanding(1, 2),
    "exit 0": lambda: SystemExit(0),
    "exit 3": lambda: SystemExit(3),
    "interrupt": KeyboardInterrupt,
    "generator": GeneratorExit,
    "cancelled": asyncio.CancelledError,
    "base": BaseException,
    "stop": lambda: StopIteration("stopped"),
    "text": lambda: "a text",
    "none": lambda: None,
    "group": lambda: ExceptionGroup("many", [ValueError(str(number)) for number in range(10_000)]),
    "chain": lambda: _chain(5_000),
    "circle": _circle,
    "deep": lambda: _deep(100_000),
    "long": lambda: ValueError("x" * 50_000_000),
    "heavy": _holding,
    "nul": lambda: ValueError("a\x00b\ud800c"),
    "lines": lambda: ValueError("line\n" * 5_000_000),
    "lying": Lying,
    "nameless": Nameless,
    "masked": Masked,
    "careless": Careless,
}


class _Trap(dict[str, int]):
    def items(self) -> Any:
        raise SystemExit(3)


def _nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


def _in_itself() -> list[Any]:
    one: list[Any] = []
    one.append(one)
    return one


ANSWERED: dict[str, Callable[[], Any]] = {
    "trap": lambda: _Trap(a=1),
    "set": lambda: {1},
    "nan": lambda: float("nan"),
    "deep": lambda: _nested(100_000),
    "large": lambda: "x" * 10_000_000,
    "circle": _in_itself,
    "object": object,
    "follow-up": lambda: Result(1, next_jobs=[Publish("noop")]),
}


@handler("answer.badly")
def answer_badly(ctx: Context, payload: Any) -> Any:
    return ANSWERED[payload]()


@handler("answer.badly.patient")
async def answer_badly_as_a_task(ctx: Context, payload: Any) -> Any:
    return ANSWERED[payload]()


@handler("raise")
def fail_badly(ctx: Context, payload: Any) -> None:
    raise RAISED[payload]()  # type: ignore[operator]


@handler("raise.patient")
async def fail_badly_as_a_task(ctx: Context, payload: Any) -> None:
    await asyncio.sleep(0)
    raise RAISED[payload]()  # type: ignore[operator]


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
        squares = pool.map(_square, range(3))
        pool.map_async(time.sleep, [600])
    return [sleeper.exitcode, squares]


def _square(number: int) -> int:
    return number * number


@handler("copy.itself")
async def copy_itself(ctx: Context, payload: Any) -> str:
    """The copy goes on as if it were the executor."""
    return "copy" if os.fork() == 0 else "original"


@handler("raise.heavily")
def raise_heavily(ctx: Context, payload: Any) -> None:
    held = bytearray(payload << 20)
    raise ValueError(len(held))


@handler("raise.heavily.patient")
async def raise_heavily_as_a_task(ctx: Context, payload: Any) -> None:
    held = bytearray(payload << 20)
    raise ValueError(len(held))
