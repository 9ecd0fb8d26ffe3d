"""Empty queues that are deleted, in batches, each its own transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from apps.jobs.engine.discard import discard_steps
from apps.jobs.engine.ready import NOWHERE
from apps.jobs.engine.shelve import shelve
from apps.jobs.engine.wake_dependents import wake
from apps.jobs.states import JobState, Reason
from apps.sql import Statement, Steps, Verb

LIMIT = 1000  # live rows looked at, or others deleted, in one batch
EDGES = 10_000  # that hang on dead letters: then fewer of these


@dataclass(frozen=True, slots=True)
class Walked:
    """One batch of a walk along live jobs: where it ended, how many it saw, whose it met, which of those are held.

    `woken`: the queues in which their end made dependents claimable.
    """

    upto: UUID | None
    seen: int
    queues: list[UUID] = field(default_factory=list)
    waiting: list[UUID] = field(default_factory=list)
    woken: frozenset[UUID] = frozenset()


_vanish = Statement.beside(__file__, Walked)
_out: Statement[UUID] = Statement.beside(__file__, lambda job_id: job_id, "vanish_out")
_dead: Statement[UUID] = Statement.beside(__file__, lambda job_id: job_id, "vanish_dead")
_ticks = Statement.beside(__file__, int, "vanish_ticks")
_batches = Statement.beside(__file__, int, "vanish_batches")
_workflows = Statement.beside(__file__, int, "vanish_workflows")


def vanish_steps(*, queues: Sequence[UUID], after: UUID = NOWHERE, limit: int = LIMIT) -> Steps[Walked]:
    """Cancel what waits in these queues among the next `limit` live jobs, and ask what runs to stop.

    The walk is over when it saw fewer.
    """
    [walked] = yield from _vanish.ask(queues=list(queues), after=after, limit=limit)
    if not walked.waiting:
        return walked
    shelved = yield from shelve(ids=walked.waiting, reason=Reason.CANCELLED)
    parents = [row.job_id for row in shelved if row.has_dependents]
    others: list[UUID] = (yield from _out.ask(parents=parents, queues=list(queues))) if parents else []
    children = yield from wake(ended=dict.fromkeys(others, JobState.CANCELLED))
    return replace(walked, woken=frozenset(child.queue_id for child in children if child.state == JobState.QUEUED))


def vanish_dead_steps(*, queue_id: UUID, limit: int = LIMIT) -> Steps[int]:
    """Discard some dead letters of a queue; answers how many."""
    ids = yield from _dead.ask(queue_id=queue_id, limit=limit, edges=EDGES)
    if not ids:
        return 0
    return len((yield from discard_steps(ids=ids)))


vanish = Verb(vanish_steps)
vanish_dead = Verb(vanish_dead_steps)


def vanish_ticks(*, queue_id: UUID, limit: int = LIMIT) -> int:
    """Forget some ticks of a queue's schedules; answers how many."""
    return _ticks(queue_id=queue_id, limit=limit)[0]


def vanish_batches(*, queue_id: UUID, limit: int = LIMIT) -> int:
    """Forget some batches of a queue; answers how many."""
    return _batches(queue_id=queue_id, limit=limit)[0]


def vanish_workflows(*, project_id: UUID, limit: int = LIMIT) -> int:
    """Forget some workflows of a project, their steps and what they published; answers how many rows went."""
    return _workflows(project_id=project_id, limit=limit)[0]
