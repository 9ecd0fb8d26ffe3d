"""Find batches whose end somebody waits for."""

from uuid import UUID

from apps.jobs.engine.ready import NOWHERE
from apps.sql import Statement

_due: Statement[UUID] = Statement.beside(__file__, lambda batch_id: batch_id)


def complete_due(*, after: UUID = NOWHERE) -> UUID | None:
    """The first batch after this one that has ended and must be followed by a job; held until the transaction ends."""
    return next(iter(_due(after=after)), None)
