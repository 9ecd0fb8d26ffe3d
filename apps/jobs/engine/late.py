"""Judge the ticks whose deadline has come."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Judged:
    """A tick, and whether no job of it had succeeded by its deadline."""

    schedule_id: UUID
    scheduled_for: datetime
    late: bool


late = Statement.beside(__file__, Judged)

LIMIT = 1000
