"""Cancel: a waiting job at once, a running one by asking it to stop, or by force."""

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
    rows: list[_Held] = yield from _cancel.ask(job_id=job_id)
    if not rows:
        return None
    [held] = rows
    if held.state != JobState.RUNNING:
        shelved = yield from shelve(ids=[job_id], reason=Reason.CANCELLED)
        if any(row.has_dependents for row in shelved):
            yield from wake(ended={job_id: JobState.CANCELLED})
        return Cancelled(JobState.CANCELLED)
    if not force or held.session_id is None:
        return Cancelled(JobState.RUNNING, cancelling=True)
    yield from report_steps(ended=[_by_force(held, held.session_id)])
    return Cancelled(JobState.CANCELLED)


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
