"""The old release knows t1. The new one renamed it to t1b, and knows t2. The broken one does not start."""

import os
import time
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.core.exceptions import SynchronousOnlyOperation

from apps.errors import LeaseLost
from apps.handlers import Context, handler
from apps.workers.models import Worker

CODE = os.environ.get("CODE", "old")

if CODE == "broken":
    raise RuntimeError("half a deploy")


def wait_for(gate: str | None) -> None:
    while gate and not Path(gate).exists():
        time.sleep(0.02)


def say_who(ctx: Context, payload: Any) -> str:
    """Answer which release ran it; the old one fails what it is told to."""
    wait_for(payload.get("gate"))
    if payload.get("fails") == CODE:
        raise ValueError(CODE)
    return CODE


if CODE == "old":
    handler("t1")(say_who)
else:
    handler("t1b", aliases=("t1",))(say_who)
    handler("t2")(say_who)


def resize(*, path: str, size: int) -> str:
    return f"{path} {size}"


@handler("strict")
def strict(ctx: Context, payload: Any) -> str:
    return resize(**payload)


@handler("fenced.write")
def write(ctx: Context, payload: Any) -> None:
    """Write beside the fence once the gate is open, and say where it was refused."""
    Path(payload["began"]).touch()
    wait_for(payload["gate"])
    try:
        with ctx.fenced():
            Worker.objects.create(uid=f"written by {ctx.attempt}")
    except LeaseLost:
        Path(payload["refused"]).touch()
        raise


@handler("fenced.coroutine")
async def write_from_a_coroutine(ctx: Context, payload: Any) -> str:
    def write_aside() -> None:
        with ctx.fenced():
            Worker.objects.create(uid="written from a coroutine")

    try:
        write_aside()
    except SynchronousOnlyOperation as error:
        await sync_to_async(write_aside)()
        return str(error)
    return "not refused"
