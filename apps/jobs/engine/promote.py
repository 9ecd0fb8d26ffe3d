"""Scheduled and waiting jobs become claimable when they are due."""

from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Promoted:
    """How many jobs of a queue became claimable, or would but for their keys."""

    queue_id: UUID
    jobs: int
    keys: list[str] | None  # the concurrency keys of those that have one: to be let through (admit)


# Both are called, or sent `on` a connection; the limit keeps each step short.
promote = Statement.beside(__file__, Promoted)
next_due = Statement.beside(__file__, float, "promote_next")

LIMIT = 1000
