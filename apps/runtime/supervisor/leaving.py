"""The last word of a session: what has ended is reported, then it says goodbye."""

import asyncio

import psycopg
import structlog

from apps.runtime.supervisor.reporting import Reporting
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire
from apps.workers.engine.goodbye import goodbye

LAST_WORD = 5.0  # seconds the last reports may take, and then the goodbye
LAST_TRY = 1.0  # … when the database has been away through the whole grace

log = structlog.get_logger("fencepost.worker")


async def leave(state: State, reporting: Reporting, reports: asyncio.Task[None], wire: Wire) -> None:
    """Report, say goodbye, and say what could not be said. A report on its way is never broken off."""
    reporting.close()
    await asyncio.wait({reports}, timeout=LAST_TRY if reporting.wire.outage.since is not None else LAST_WORD)
    if not reports.done() and reporting.wire.turn.locked():
        reporting.last.set()
        await asyncio.wait({reports})  # each call ends by itself, in bounded time
    if not reports.done() or state.held:
        log.error(
            "left with ends unreported; their lease will run out and the jobs run again",
            worker=state.options.name, jobs=[str(job_id) for job_id in list(state.held)[:100]], unreported=len(state.held),
        )  # fmt: skip
        return
    reports.result()
    try:
        async with asyncio.timeout(LAST_WORD):
            await wire.send(lambda connection: goodbye.on(connection, session_id=state.session_id))
    except (TimeoutError, psycopg.Error, OSError) as error:
        log.warning("left without a goodbye; the lease will run out", error=str(error).strip())
