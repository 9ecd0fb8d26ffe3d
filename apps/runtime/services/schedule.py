"""Run scheduler loops in this process."""

import asyncio
import contextlib
import signal
from collections.abc import Iterable

import structlog
import uvloop

from apps.runtime.runner import Runner
from apps.runtime.services import discover

log = structlog.get_logger("fencepost.scheduler")


def schedule(*, only: Iterable[str] = ()) -> None:
    """Run the loops named, or all, until TERM or INT. Raises ValueError for a loop that does not exist."""
    loops = discover.loops(only)
    log.info("scheduler started", loops=[loop.name for loop in loops])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_until_told(Runner(loops)))
    log.info("scheduler stopped")


async def _until_told(runner: Runner) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    running = asyncio.create_task(runner.run())
    waiting = asyncio.create_task(stopped.wait())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    for task in (running, waiting):
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
