"""The jobs of a chaos run. Registered only where a run asked for them: some of them kill their process."""

import asyncio
import os
import re
import signal
import time
from typing import Any

from apps.bench.services.chaos.diary import written
from apps.handlers import Context, Discard, handler

EXIT = 42  # what os._exit leaves behind
HOG_BYTES, HOG_SECONDS = 150_000_000, 0.5
# One call of the C library that keeps the interpreter's lock: twice as long for each letter, seconds here.
STUBBORN, LETTERS = re.compile(r"(a+)+$"), 25

LONG_JOB, LONG_SECONDS = "chaos.long", 3.0
QUIET = ("chaos.task", "chaos.thread", "chaos.flaky", "chaos.doomed")
HOSTILE = ("chaos.exit", "chaos.kill", "chaos.hog", "chaos.gil")


def register() -> None:
    """Fill the registry."""
    for call in (task, long, thread, flaky, doomed, leave, kill, hog, gil):
        handler(f"chaos.{NAMES.get(call.__name__, call.__name__)}")(call)


NAMES = {"leave": "exit"}


async def task(ctx: Context, payload: Any) -> str:
    """Sleep as a task."""
    with written(ctx):
        await asyncio.sleep(payload["seconds"])
    return "done"


async def long(ctx: Context, payload: Any) -> str:
    """Sleep for longer than a lease."""
    with written(ctx):
        await asyncio.sleep(LONG_SECONDS)
    return "done"


def thread(ctx: Context, payload: Any) -> str:
    """Sleep in a thread, in one go: nobody can stop it."""
    with written(ctx):
        time.sleep(payload["seconds"])
    return "done"


async def flaky(ctx: Context, payload: Any) -> str:
    """Fail every first attempt of a generation."""
    with written(ctx):
        await asyncio.sleep(payload["seconds"])
        if ctx.attempt == 1:
            raise RuntimeError("the first attempt fails")
    return "done"


async def doomed(ctx: Context, payload: Any) -> str:
    """End as a dead letter; succeed once replayed."""
    with written(ctx):
        if ctx.generation == 1:
            raise Discard("no use")
    return "done"


def leave(ctx: Context, payload: Any) -> str:
    """End the process without a word, the first time."""
    with written(ctx):
        if ctx.attempt == 1:
            os._exit(EXIT)
    return "done"


def kill(ctx: Context, payload: Any) -> str:
    """Kill the process, the first time."""
    with written(ctx):
        if ctx.attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def hog(ctx: Context, payload: Any) -> str:
    """Take memory and hold it for a while."""
    with written(ctx):
        held = bytearray(HOG_BYTES)
        held[:: os.sysconf("SC_PAGE_SIZE")] = b"x" * len(range(0, HOG_BYTES, os.sysconf("SC_PAGE_SIZE")))
        time.sleep(HOG_SECONDS)
    return "done"


def gil(ctx: Context, payload: Any) -> str:
    """Keep the interpreter's lock, the first time."""
    with written(ctx):
        if ctx.attempt == 1:
            STUBBORN.match("a" * LETTERS + "b")
    return "done"
