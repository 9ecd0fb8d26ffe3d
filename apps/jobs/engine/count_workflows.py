"""Count the jobs of workflows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Counted:
    """So many jobs of one group are in one state, and so many of them have run at some time."""

    group_id: UUID
    state: str
    jobs: int
    ran: int


_count = Statement.beside(__file__, Counted)


def count_workflows(*, ids: Sequence[UUID], since: date) -> list[Counted]:
    """The states of all jobs of some workflows; none of them can have ended before `since`."""
    return _count(ids=list(ids), since=since) if ids else []
