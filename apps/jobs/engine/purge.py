"""Cancel every queued job of a queue, in batches."""

from uuid import UUID

from apps.jobs.engine.shelve import shelve
from apps.jobs.engine.wake_dependents import wake
from apps.jobs.states import JobState, Reason
from apps.sql import Statement, Steps, Verb

LIMIT = 1000

_purge = Statement.beside(__file__, lambda job_id: job_id)


def purge_steps(*, queue_id: UUID, limit: int = LIMIT) -> Steps[int]:
    """Cancel up to `limit` queued jobs; call again, each in its own transaction, until it answers 0."""
    ids: list[UUID] = yield from _purge.ask(queue_id=queue_id, limit=limit)
    if not ids:
        return 0
    shelved = yield from shelve(ids=ids, reason=Reason.PURGED)
    woke = {row.job_id: JobState.CANCELLED for row in shelved if row.has_dependents}
    if woke:
        yield from wake(ended=woke)
    return len(shelved)


purge = Verb(purge_steps)
