"""The jobs that benchmarks run: they write down when they started, and nothing else. Chaos has its own."""

import asyncio
import os
from functools import cache
from typing import Any

from apps.bench.services.chaos import diary, work
from apps.bench.services.records import PLACE, stamp
from apps.handlers import Context, handler

HELD_SECONDS = 60


@handler("bench.stamp")
async def write_down(ctx: Context, payload: Any) -> None:
    """Append 24 bytes to the file that the benchmark named; without one, do nothing."""
    file = _file()
    if file is not None:
        os.write(file, stamp(payload["t"]))


@handler("bench.hold")
async def hold(ctx: Context, payload: Any) -> None:
    """Write down the start; the first attempt lasts until somebody kills it."""
    await write_down(ctx, payload)
    if ctx.attempt == 1:
        await asyncio.sleep(HELD_SECONDS)


@cache
def _file() -> int | None:
    path = os.environ.get(PLACE)
    return os.open(path, os.O_WRONLY | os.O_APPEND) if path else None


if diary.PLACE in os.environ:  # never in a worker that serves others
    work.register()
