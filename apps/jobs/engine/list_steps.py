"""Read the steps of a workflow, from whichever shelves they stand on."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class ListedStep:
    """What a list of steps shows of a job; it has no name if it joined later."""

    id: UUID
    name: str | None
    queue_id: UUID
    queue_name: str
    type: str
    state: str
    reason: str | None
    priority: int
    run_at: datetime
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    elapsed_seconds: float | None
    attempt: int
    max_attempts: int
    pending_parents: int
    stage: str | None
    done: int | None
    total: int | None
    last_error: str | None
    cancel_requested: bool


_steps = Statement.beside(__file__, ListedStep)


def list_steps(*, workflow_id: UUID, since: date, limit: int) -> list[ListedStep]:
    """Up to `limit` jobs, parents before children; none of them can have ended before `since`."""
    return _steps(workflow_id=workflow_id, since=since, limit=limit)
