"""Count the jobs of batches and of workflows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Counted:
    """So many jobs of one group are in one state, so many of them have run at some time, and the last of them ended then."""

    group_id: UUID
    state: str
    jobs: int
    ran: int
    finished_at: datetime | None


_batches = Statement.beside(__file__, Counted, "count_batches")
_workflows = Statement.beside(__file__, Counted, "count_workflows")


def count_batches(*, ids: Sequence[UUID], since: date) -> list[Counted]:
    """The states of all jobs of some batches; none of them can have ended before `since`."""
    return _batches(ids=list(ids), since=since) if ids else []


def count_workflows(*, ids: Sequence[UUID], since: date) -> list[Counted]:
    """The states of all jobs of some workflows; none of them can have ended before `since`."""
    return _workflows(ids=list(ids), since=since) if ids else []
