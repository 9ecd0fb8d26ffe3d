"""Scheduled and waiting jobs become claimable when they are due."""

from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Promoted:
    """How many jobs of a queue became claimable."""

    queue_id: UUID
    jobs: int


# Both are called, or sent `on` a connection; the limit keeps each step short.
promote = Statement.beside(__file__, Promoted)
next_due = Statement.beside(__file__, float, "promote_next")

LIMIT = 1000
