"""Count the jobs of batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Counted:
    """So many jobs of a batch are in one state; the last of them ended then."""

    batch_id: UUID
    state: str
    jobs: int
    finished_at: datetime | None


_count = Statement.beside(__file__, Counted)


def count_batches(*, ids: Sequence[UUID], since: date) -> list[Counted]:
    """The states of all jobs of some batches; none of them can have ended before `since`."""
    return _count(ids=list(ids), since=since) if ids else []
