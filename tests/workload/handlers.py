"""Handlers that write down their starts and ends over connections of their own: what ran is judged there.

The table `effects` is made by tests/processes.py in the test's own database.
"""

import asyncio
import decimal
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apps.handlers import Context, Discard, Retry, Snooze, handler
from tests.workload import asking, following, hostile, raising, stubborn  # noqa: F401 — their handlers register
from tests.workload.effect import effect, witnessed


@handler("effect")
def leave_effect(ctx: Context, payload: Any) -> Any:
    """Sleep in one go, in a thread."""
    with effect(ctx):
        time.sleep(payload.get("seconds", 0))
    return payload.get("answer")


@handler("effect.patient")
async def leave_effect_patiently(ctx: Context, payload: Any) -> Any:
    """Sleep as a task: may be cancelled."""
    with effect(ctx):
        await asyncio.sleep(payload.get("seconds", 0))


@handler("effect.polite")
def leave_effect_politely(ctx: Context, payload: Any) -> Any:
    """Sleep in a thread, looking whether to stop."""
    with effect(ctx):
        end = time.monotonic() + payload["seconds"]
        while time.monotonic() < end and not ctx.cancelled:
            time.sleep(0.02)
    return "stopped" if ctx.cancelled else "done"


@handler("effect.witnessed")
def leave_effect_elsewhere(ctx: Context, payload: Any) -> None:
    with witnessed(ctx):
        time.sleep(payload["seconds"])


@handler("effect.fail")
def leave_effect_and_fail(ctx: Context, payload: Any) -> None:
    with effect(ctx):
        raise ValueError("failed")


@handler("work.here")
async def work_here(ctx: Context, payload: Any) -> list[str]:
    """Leave a file where the workflow works, and tell which are there."""
    (ctx.workspace / str(ctx.job_id)).touch()
    return sorted(path.name for path in ctx.workspace.iterdir())


@handler("boom")
def boom(ctx: Context, payload: Any) -> None:
    raise ValueError(payload.get("text", "boom"))


ANSWERS: dict[str, Any] = {
    "nul": {"out": "a\x00b", "k\x00": 1},
    "surrogate": "a\ud800b",
    "nan": float("nan"),
    "inf": float("inf"),
    "decimal": decimal.Decimal("1.10"),
    "set": {1, 2},
    "datetime": datetime(2027, 1, 1, tzinfo=UTC),
    "bytes": b"raw",
    "large": "x" * 300_000,
    "big": 9007199254740993,
}


@handler("answer")
def answer(ctx: Context, payload: Any) -> Any:
    return ANSWERS[payload["what"]]


@handler("raise.nul")
def raise_nul(ctx: Context, payload: Any) -> None:
    ctx.progress(1, 2, stage="half\x00way")
    ctx.log("a line\x00with NUL")
    raise ValueError("bad \x00 byte")


@handler("instruct")
async def instruct(ctx: Context, payload: Any) -> None:
    """Raise an instruction of the runtime's."""
    if payload["what"] == "snooze":
        raise Snooze(after=payload["after"])
    if payload["what"] == "retry":
        raise Retry("again", after=payload["after"])
    raise Discard("no use")


@handler("exit")
def leave(ctx: Context, payload: Any) -> None:
    raise SystemExit(payload.get("code", 0))


@handler("talk")
def talk(ctx: Context, payload: Any) -> None:
    ctx.log("first")
    ctx.log("second", level="warning")
    ctx.progress(3, 4, stage="three")
    ctx.save("note.txt", b"kept")


@handler("brief", timeout=0.3)
async def brief(ctx: Context, payload: Any) -> None:
    with effect(ctx):
        await asyncio.sleep(60)


@handler("brief.deaf", timeout=0.3)
def brief_deaf(ctx: Context, payload: Any) -> None:
    with effect(ctx):
        time.sleep(payload["seconds"])


@handler("tell.progress")
async def tell_progress(ctx: Context, payload: Any) -> None:
    ctx.progress(1, 2, stage="half")
    await asyncio.sleep(60)


@handler("note")
def note(ctx: Context, payload: Any) -> Any:
    """Write start and end to a file, for databases that go away; heeds a request to stop if `polite`.

    The first attempt takes `first` seconds, if that is given.
    """
    _note(ctx, "start")
    seconds = payload.get("seconds", 0)
    end = time.monotonic() + (payload.get("first", seconds) if ctx.attempt == 1 else seconds)
    while time.monotonic() < end:
        time.sleep(0.02)
        if payload.get("polite") and ctx.cancelled:
            _note(ctx, "told")
            return "stopped"
    _note(ctx, "end")
    return "done"


def _note(ctx: Context, what: str) -> None:
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(f"{what} {ctx.job_id} {ctx.attempt} {os.getpid()}\n")
