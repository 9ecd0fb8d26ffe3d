"""A person refuses what a job waits to be allowed: it ends, and its dependents follow their rule for a failed parent."""

from uuid import UUID

from apps.jobs.engine.shelve import shelve
from apps.jobs.engine.wake_dependents import wake
from apps.jobs.states import JobState, Reason
from apps.sql import Statement, Steps, Verb

_reject = Statement.beside(__file__, lambda job_id: job_id)


def reject_steps(*, job_id: UUID, by: str, note: str = "") -> Steps[frozenset[UUID] | None]:
    """Cancel a job that awaits approval, the note kept on it; None when it is in another state.

    Answers the queues in which that made dependents claimable.
    """
    held: list[UUID] = yield from _reject.ask(job_id=job_id, by=by, note=note)
    shelved = yield from shelve(ids=held, reason=Reason.REJECTED)
    if not shelved:
        return None
    woken = yield from wake(ended={row.job_id: JobState.CANCELLED for row in shelved if row.has_dependents})
    return frozenset(child.queue_id for child in woken if child.state == JobState.QUEUED)


reject = Verb(reject_steps)
