"""Cancel: a waiting job at once, a running one by asking it to stop, or by force."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.jobs.engine.report import Ended, report_steps
from apps.jobs.engine.shelve import shelve
from apps.jobs.engine.wake_dependents import wake
from apps.jobs.states import JobState, Outcome, Reason
from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The state after the call; `cancelling` while a running job has only been asked."""

    state: str
    cancelling: bool = False


@dataclass(frozen=True, slots=True)
class _Held:
    job_id: UUID
    state: str
    fence: int
    session_id: UUID | None


_cancel = Statement.beside(__file__, _Held)


def cancel_steps(*, job_id: UUID, force: bool = False) -> Steps[Cancelled | None]:
    """Cancel a live job; None when it is not live (any more): look on the shelves.

    A running job is asked to stop and hears of it at its worker's next heartbeat. `force` ends
    its attempt now and fences the worker.
    """
    done = yield from cancel_many_steps(ids=[job_id], force=force)
    return done.get(job_id)


def cancel_many_steps(*, ids: Sequence[UUID], force: bool = False) -> Steps[dict[UUID, Cancelled]]:
    """The same of many at once, in id order; answers those that were live."""
    rows: list[_Held] = yield from _cancel.ask(ids=list(ids))
    waiting = [row.job_id for row in rows if row.state != JobState.RUNNING]
    done = {job_id: Cancelled(JobState.CANCELLED) for job_id in waiting}
    if waiting:
        shelved = yield from shelve(ids=waiting, reason=Reason.CANCELLED)
        yield from wake(ended={row.job_id: JobState.CANCELLED for row in shelved if row.has_dependents})
    forced = [_by_force(row, row.session_id) for row in rows if row.session_id and force and row.job_id not in done]
    if forced:
        yield from report_steps(ended=forced)
    running = Cancelled(JobState.RUNNING, cancelling=True)
    return done | {
        row.job_id: Cancelled(JobState.CANCELLED) if force else running for row in rows if row.job_id not in done
    }


def _by_force(held: _Held, session_id: UUID) -> Ended:
    return Ended(
        job_id=held.job_id,
        fence=held.fence,
        session_id=session_id,
        outcome=Outcome.CANCELLED.value,
        error_class="Cancelled",
        error_message="Cancelled by force.",
    )


cancel = Verb(cancel_steps)
cancel_many = Verb(cancel_many_steps)
