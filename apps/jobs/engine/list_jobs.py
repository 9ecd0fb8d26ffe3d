"""Read one page of jobs, from whichever shelves they stand on."""

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from apps.jobs.states import LIVE, JobState
from apps.sql import Statement

FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)
DAY = timedelta(days=1)  # around midnight this clock and the database's may name different days


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list shows of a job: neither payload nor result."""

    id: UUID
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
    stage: str | None
    done: int | None
    total: int | None
    last_error: str | None
    cancel_requested: bool
    label_text: str | None
    workflow_id: UUID | None
    batch_id: UUID | None
    submitted_by: UUID | None
    required_worker: str | None  # by name, as is the next
    assigned_worker: str | None

    @property
    def labels(self) -> dict[str, str] | None:
        """Read only where they are shown."""
        return json.loads(self.label_text) if self.label_text else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which jobs; None does not narrow."""

    states: list[str] | None = None
    types: list[str] | None = None
    labels: dict[str, str] | None = None
    workflow: UUID | None = None
    batch: UUID | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Where in the list: rows older than one id, or newer than one, or the newest."""

    limit: int
    older_than: UUID | None = None
    newer_than: UUID | None = None
    within: Filter = field(default_factory=Filter)


_older = Statement.beside(__file__, Listed)
_newer = Statement(_older.text.replace("DESC", "ASC").replace("job.id <", "job.id >"), Listed)


def list_jobs(*, queue_ids: list[UUID], window: Window) -> list[Listed]:
    """Up to `limit` jobs; older ones newest first, newer ones oldest first, as one walks away from the edge."""
    read = _newer if window.newer_than else _older
    return read(
        queue_ids=queue_ids,
        edge=window.newer_than or window.older_than or LAST,
        limit=window.limit,
        **_shelves(window.within),
        **_columns(window.within),
    )


def _shelves(asked: Filter) -> dict[str, Any]:
    """The parts of the table that can hold what is asked for."""
    states = set(asked.states or JobState.values)
    since = asked.created_after.date() - DAY if asked.created_after else date.min
    until = datetime.now(UTC).date() + DAY
    return {"live": bool(states & LIVE), "ended": bool(states - LIVE), "since": since, "until": until}


def _columns(asked: Filter) -> dict[str, Any]:
    return {
        "states": asked.states,
        "types": asked.types,
        "labels": None if asked.labels is None else json.dumps(asked.labels),
        "workflow": asked.workflow,
        "batch": asked.batch,
        "created_after": asked.created_after,
        "created_before": asked.created_before,
    }
