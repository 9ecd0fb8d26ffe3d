"""Handlers that make further jobs."""

import time
from typing import Any

from apps.handlers import Context, Publish, Result, handler


@handler("follow")
def follow(ctx: Context, payload: Any) -> Any:
    """Each of `jobs` is type, payload, fields; the first attempt fails where `fails` says so, after it has named them all."""
    for kind, body, fields in payload["jobs"]:
        ctx.enqueue(kind, body, **fields)
    if payload.get("fails") and ctx.attempt == 1:
        raise RuntimeError("not yet")
    while payload.get("waits") and not ctx.cancelled:
        time.sleep(0.01)
    return len(payload["jobs"])


@handler("follow.async")
async def follow_async(ctx: Context, payload: Any) -> Any:
    return Result("done", next_jobs=[Publish(kind, body, fields) for kind, body, fields in payload["jobs"]])


@handler("follow.flood")
def flood(ctx: Context, payload: Any) -> None:
    for _ in range(payload["jobs"]):
        ctx.enqueue("noop", "x" * payload["bytes"])
