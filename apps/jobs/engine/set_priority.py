"""Change how urgent waiting jobs are."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Reprioritized:
    """A job whose priority was set, and what it was before."""

    job_id: UUID
    queue_id: UUID
    before: int


_set_priority = Statement.beside(__file__, Reprioritized)


def set_priority_steps(*, ids: Sequence[UUID], priority: int) -> Steps[list[Reprioritized]]:
    """Set the priority, −1000 to 1000, of jobs that are neither running nor ended; answers those it found so."""
    rows: list[Reprioritized] = yield from _set_priority.ask(ids=list(ids), priority=priority)
    return rows


set_priority = Verb(set_priority_steps)
