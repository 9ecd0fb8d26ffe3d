"""Which queues have jobs that are ranked by an ageing they no longer have."""

from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Stale:
    """A queue and the mark that its change of ageing left."""

    queue_id: UUID
    mark: int


rerank_mark = Statement.beside(__file__, lambda mark: mark, "rerank_mark")
rerank_due = Statement.beside(__file__, Stale, "rerank_due")
rerank_settle = Statement.beside(__file__, lambda queue_id: queue_id, "rerank_settle")
