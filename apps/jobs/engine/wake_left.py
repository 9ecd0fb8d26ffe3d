"""Finish waking the dependents that were too many for the transaction of their parent's end."""

from dataclasses import dataclass
from uuid import UUID

from apps.jobs.engine.wake_dependents import Woken, wake
from apps.sql import Statement, Steps, Verb

LIMIT = 100


@dataclass(frozen=True, slots=True)
class _Left:
    parent_id: UUID
    state: str


_left = Statement.beside(__file__, _Left)


def wake_left_steps() -> Steps[list[Woken]]:
    """Settle what is left of up to a hundred ended parents, or as much of it as one transaction may."""
    rows: list[_Left] = yield from _left.ask(limit=LIMIT)
    return (yield from wake(ended={row.parent_id: row.state for row in rows}))


wake_left = Verb(wake_left_steps)
