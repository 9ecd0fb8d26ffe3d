"""How many jobs wait, run and died in some queues, and how long the oldest has waited."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.sql import Statement

CAP = 10_000  # nobody reads further, and counting on would cost a backlog's whole index


@dataclass(frozen=True, slots=True)
class Counts:
    """What one queue holds; a number that equals CAP means "at least"."""

    queue_id: UUID
    waiting: int
    oldest_at: datetime | None  # when the first of those counted became due
    running: int
    dead: int


_count = Statement.beside(__file__, Counts)


def queue_counts(*, queue_ids: Sequence[UUID], cap: int = CAP) -> list[Counts]:
    """Count within each queue, up to a cap."""
    return _count(queue_ids=list(queue_ids), cap=cap)
