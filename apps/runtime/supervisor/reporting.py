"""The report loop: what has ended goes to the database in batches, until each outcome is known."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import psycopg
import structlog

from apps.jobs.engine.admit import admit, batches
from apps.jobs.engine.last_word import last_word
from apps.jobs.engine.log import Line, log_on
from apps.jobs.engine.report import Ended, Reported, report_missing, report_on
from apps.jobs.engine.wake import SOON, payload, wake_promoter_statement, wake_statement
from apps.jobs.states import JobState, Outcome
from apps.runtime.executor import Run
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire
from apps.sql import Trouble, trouble

BATCH = 500
LINES_EVERY = 1.0  # seconds
REFUSED = "ReportRefused"
LATER = (JobState.RETRY_WAIT, JobState.SCHEDULED)

log = structlog.get_logger("fencepost.worker")

type Batch = list[tuple[Run, Ended | None]]


class Reporting:
    def __init__(self, state: State, wire: Wire) -> None:
        self.state = state
        self.wire = wire
        self.closing = False
        self.last = asyncio.Event()  # what fails from now on is not tried again
        self.talks = logging.getLogger("fencepost.worker").isEnabledFor(logging.INFO)

    def close(self) -> None:
        """Report what has ended by now, then end."""
        self.closing = True
        self.state.has_ended.set()

    async def run(self) -> None:
        """Report until closed."""
        self.closing = False
        while not self.closing:
            await self.state.has_ended.wait()
            self.state.has_ended.clear()
            await self.flush()

    async def pass_lines_on(self) -> None:
        """Send what handlers have said while they run, until cancelled: whoever watches need not wait for the end."""
        while True:
            await asyncio.sleep(LINES_EVERY)
            await self._keep_lines([line for run in list(self.state.held.values()) for line in run.take_lines()])

    async def flush(self) -> None:
        """Report everything that has ended by now."""
        state = self.state
        orphans, state.orphans = state.orphans, []
        if orphans:
            await self._send(orphans)
        while state.ended:
            batch, state.ended = state.ended[:BATCH], state.ended[BATCH:]
            await self._report(batch)
            for run, _ in batch:
                state.let_go(run)

    async def _report(self, batch: Batch) -> None:
        """One batch, sent again until the database says what became of it.

        A reply that was lost leaves the outcome unknown; the next try then finds no row, and the
        ledger row of its own fence tells whether it had been applied.
        """
        await self._keep_lines([line for run, _ in batch for line in run.take_lines()])
        ended = [one for _, one in batch if one is not None]
        if not ended:
            return
        await self._keep_last_words([run for run, _ in batch if run.last_told])
        rows = await self._send(ended)
        await self._wake(rows, batch, await self._admit(batch))
        await self._tell_promoter(rows, batch)
        if len(rows) == len(ended) and not self.talks:
            return
        known = {(row.job_id, row.fence): row for row in rows}
        missing = [one for one in ended if (one.job_id, one.fence) not in known]
        if missing:
            await self._look_up(missing)
        if self.talks:
            for run, one in batch:
                self._say(run, one, known.get((run.claim.job_id, run.claim.fence)))

    async def _keep_lines(self, lines: list[Line]) -> None:
        if not lines:
            return
        try:
            await self.wire.send_until_answered(lambda connection: log_on(connection, lines), until=self.last)
        except psycopg.Error as error:
            log.error("lines of handlers not kept", lines=len(lines), error=str(error).strip())

    async def _keep_last_words(self, runs: list[Run]) -> None:
        """A heartbeat that passes progress on may come too late for what was said at the end."""
        told = [(run.claim.fence, run.last_told) for run in runs if run.last_told]
        session_id = self.state.session_id
        if not told or session_id is None:
            return
        call = partial(last_word.on, session_id=session_id, told=told)
        try:
            await self.wire.send_until_answered(call, until=self.last)
        except psycopg.Error as error:
            log.error("last progress of handlers not kept", jobs=len(told), error=str(error).strip())

    async def _send(self, ended: list[Ended]) -> list[Reported]:
        """Send a batch; one that the database refuses is halved until the end at fault stands alone."""
        try:
            return await self.wire.send_until_answered(lambda connection: report_on(connection, ended), until=self.last)
        except psycopg.Error as error:
            if trouble(error) is not Trouble.FATAL:
                raise
            if len(ended) > 1:
                half = len(ended) // 2
                return await self._send(ended[:half]) + await self._send(ended[half:])
            if ended[0].error_class == REFUSED:
                log.error(
                    "report refused; its deadline will end the job", job_id=str(ended[0].job_id), error=str(error)
                )
                return []
            return await self._send([_without_content(ended[0], error)])

    async def _admit(self, batch: Batch) -> set[UUID]:
        """Others of the same concurrency keys may run now, and those that were just enqueued; answers their queues."""
        keys = {(run.claim.queue_id, key) for run, _ in batch if (key := run.claim.concurrency_key) is not None}
        keys |= {
            (job.queue_id, key)
            for _, one in batch
            if one
            for job in one.follow
            if (key := job.concurrency_key) is not None
        }
        queues: set[UUID] = set()
        for some in batches(keys):
            with contextlib.suppress(psycopg.Error, OSError):  # a loop lets them through too
                queues |= {row.queue_id for row in await self.wire.send(partial(admit.on, keys=some))}
        return queues

    async def _tell_promoter(self, rows: list[Reported], batch: Batch) -> None:
        """Of attempts that come again before it would look, and of delayed jobs that were just enqueued."""
        if come_soon(rows) or any(job.delay_ms or job.run_at for _, one in batch if one for job in one.follow):
            with contextlib.suppress(psycopg.Error, OSError):  # a hint: it looks every second
                await self.wire.send(wake_promoter_statement.on)

    async def _wake(self, rows: list[Reported], batch: Batch, admitted: set[UUID]) -> None:
        """Children, followers and jobs handed back that are claimable: this worker looks at once, the others are told."""
        again = {(row.job_id, row.fence) for row in rows if row.state == JobState.QUEUED}
        queues = admitted | {queue_id for row in rows for queue_id in row.woke}
        queues |= {run.claim.queue_id for run, one in batch if one and one.follow}
        if again:
            queues |= {run.claim.queue_id for run, _ in batch if (run.claim.job_id, run.claim.fence) in again}
        if queues:
            self.state.has_work.set()
            with contextlib.suppress(psycopg.Error, OSError):  # a hint: the poll finds them too
                await self.wire.send(lambda connection: wake_statement.on(connection, queues=payload(queues)))

    async def _look_up(self, missing: list[Ended]) -> None:
        session_id = missing[0].session_id
        found = await self.wire.send_until_answered(
            lambda connection: report_missing.on(connection, ended=missing, session_id=session_id), until=self.last
        )
        for row in found:
            if not row.applied:
                log.warning("report fenced: the job has moved on", job_id=str(row.job_id), fence=row.fence)

    def _say(self, run: Run, ended: Ended | None, row: Reported | None) -> None:
        if ended is None or row is None:
            return
        claim = run.claim
        facts = {
            "job_id": str(claim.job_id),
            "type": claim.type,
            "attempt": f"{claim.attempt}/{claim.max_attempts}",
            "seconds": round(run.took, 3),
            "request_id": claim.request_id,
        }
        if row.state == JobState.COMPLETED:
            log.info("job finished", **facts)
        elif row.state == JobState.CANCELLED:
            log.info("job cancelled", **facts)
        elif row.state == JobState.DEAD_LETTER:
            log.error("job failed permanently", **facts, outcome=row.outcome, error=_error(ended))
        elif row.outcome in (Outcome.SNOOZED, Outcome.RELEASED, Outcome.NEEDS_APPROVAL):
            log.info("job handed back", **facts, outcome=row.outcome)
        else:
            log.warning("job failed, will retry", **facts, run_at=str(row.run_at), error=_error(ended))


def come_soon(rows: Iterable[Reported]) -> bool:
    """Whether any of these attempts comes again before a promoter would look that nobody woke."""
    soon = datetime.now(UTC) + timedelta(seconds=SOON)
    return any(row.run_at and row.state in LATER and row.run_at < soon for row in rows)


def _without_content(ended: Ended, error: psycopg.Error) -> Ended:
    """What to say when the database cannot keep what a handler answered or raised."""
    return Ended(
        job_id=ended.job_id,
        fence=ended.fence,
        session_id=ended.session_id,
        outcome=Outcome.PERMANENT_ERROR.value,
        error_class=REFUSED,
        error_message=f"The database refused the report of this {ended.outcome}: {type(error).__name__}.",
    )


def _error(ended: Ended) -> str:
    return f"{ended.error_class}: {ended.error_message}"[:500]
