"""Find batches whose end somebody waits for."""

from uuid import UUID

from apps.sql import Statement

_due: Statement[UUID] = Statement.beside(__file__, lambda batch_id: batch_id)


def complete_due() -> UUID | None:
    """A batch that has ended and must be followed by a job, held until the transaction ends; None where there is none."""
    return next(iter(_due()), None)
