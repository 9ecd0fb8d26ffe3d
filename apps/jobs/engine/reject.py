"""A person refuses what a job waits to be allowed: it ends, and its dependents follow their rule for a failed parent."""

from uuid import UUID

from apps.jobs.engine.shelve import shelve
from apps.jobs.engine.wake_dependents import wake
from apps.jobs.states import JobState, Reason
from apps.sql import Statement, Steps, Verb

_reject = Statement.beside(__file__, lambda job_id: job_id)


def reject_steps(*, job_id: UUID, by: str, note: str = "") -> Steps[bool]:
    """Cancel a job that awaits approval, the note kept on it; False when it is in another state."""
    held: list[UUID] = yield from _reject.ask(job_id=job_id, by=by, note=note)
    shelved = yield from shelve(ids=held, reason=Reason.REJECTED)
    if any(row.has_dependents for row in shelved):
        yield from wake(ended={job_id: JobState.CANCELLED})
    return bool(shelved)


reject = Verb(reject_steps)
