"""Hold workflows while jobs join them, so that no pause and no cancel passes those by."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Joined:
    """A workflow as it is until the transaction ends."""

    id: UUID
    project_id: UUID
    is_paused: bool
    is_cancelled: bool
    is_reserved: bool  # or was, until its reservation ended by itself: whom its jobs wait for is said by aim.sql


_join = Statement.beside(__file__, Joined)


def join_steps(ids: Collection[UUID]) -> Steps[dict[UUID, Joined]]:
    """Hold these workflows, before any of their jobs is held; those that there are, by id."""
    rows: list[Joined] = yield from _join.ask(ids=sorted(ids))
    return {row.id: row for row in rows}


join_workflows = Verb(join_steps)
