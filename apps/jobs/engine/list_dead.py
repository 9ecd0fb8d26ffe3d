"""Read one page of dead letters."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.jobs.engine.list_jobs import LAST
from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Dead:
    """A dead letter; `blocked_by` are a live job with its unique key and descendants a replay would leave behind."""

    id: UUID
    queue_id: UUID
    queue_name: str
    type: str
    reason: str | None
    priority: int
    attempt: int
    max_attempts: int
    created_at: datetime
    died_at: datetime
    last_error_class: str | None
    last_error_message: str | None
    blocked_by: list[UUID]

    @property
    def replayable(self) -> bool:
        return not self.blocked_by


_older = Statement.beside(__file__, Dead)
_newer = Statement(_older.text.replace("DESC", "ASC").replace("job.id <", "job.id >"), Dead)


def list_dead(
    *,
    queue_ids: list[UUID],
    limit: int,
    older_than: UUID | None = None,
    newer_than: UUID | None = None,
    error_class: str | None = None,
) -> list[Dead]:
    """Up to `limit` dead letters, in the order one walks away from the edge."""
    read = _newer if newer_than else _older
    edge = newer_than or older_than or LAST
    return read(queue_ids=queue_ids, edge=edge, limit=limit, error_class=error_class)
