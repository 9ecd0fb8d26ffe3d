"""Rank the jobs of queues by the ageing these have now, in batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.jobs.engine.ready import NOWHERE
from apps.sql import Statement

LIMIT = 2000  # live rows looked at in one batch


@dataclass(frozen=True, slots=True)
class Span:
    """One batch: where it ended, how many rows it looked at, ranked anew, and left because others hold them."""

    upto: UUID | None
    seen: int
    changed: int
    skipped: int


rerank_statement = Statement.beside(__file__, Span)


def rerank(*, queues: Sequence[UUID], after: UUID = NOWHERE, limit: int = LIMIT) -> Span:
    """Look at the next `limit` live jobs after an id; the walk is over when it saw fewer."""
    [span] = rerank_statement(queues=list(queues), after=after, limit=limit)
    return span
