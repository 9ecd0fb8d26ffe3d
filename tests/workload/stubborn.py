"""Handlers that hear of their cancel and do something else all the same."""

import asyncio
import time
from typing import Any

from apps.handlers import Context, NeedsApproval, Retry, Snooze, handler
from tests.workload.effect import effect


def _end(how: str) -> str:
    match how:
        case "raise":
            raise RuntimeError("as if nothing had been said")
        case "retry":
            raise Retry("again", after=0)
        case "snooze":
            raise Snooze("later", after=0)
        case "ask":
            raise NeedsApproval("what do you think?")
    return "done"


@handler("stubborn")
def stubborn(ctx: Context, payload: Any) -> str:
    with effect(ctx):
        while not ctx.cancelled:
            time.sleep(0.01)
        return _end(payload)


@handler("stubborn.async")
async def stubborn_async(ctx: Context, payload: Any) -> str:
    with effect(ctx):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return _end(payload)
        return "it was not cancelled"
