"""What there is to know of the health of queues, in one statement for a page of them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.jobs.engine.list_jobs import Window
from apps.sql import Statement

CAP = 250  # waiting jobs looked at, of each of three kinds: for any worker, for one, held back by a key


@dataclass(frozen=True, slots=True)
class Facts:
    """One queue as it is, before anybody judges it."""

    id: UUID
    name: str
    project_id: UUID
    high: int  # of those looked at, by priority: above 0, 0, below
    normal: int
    low: int
    oldest_seen: datetime | None
    measured: int | None  # by the depth cache, which counts further
    oldest_measured: datetime | None
    in_flight: int
    cap: int | None
    live_workers: int
    breaker: str
    rate_limited: bool
    paused: bool
    pause_reason: str
    completed: int  # in the last hour
    failed: int
    dead_lettered: int
    runs: list[int] | None
    now: datetime

    @property
    def is_capped(self) -> bool:
        """Whether there may be more than was looked at."""
        return self.high + self.normal + self.low >= CAP

    @property
    def waiting(self) -> int:
        seen = self.high + self.normal + self.low
        return max(seen, self.measured or 0) if self.is_capped else seen

    @property
    def oldest_seconds(self) -> float | None:
        """How long the first of those that could start has waited."""
        measured = [self.oldest_measured] if self.is_capped else []
        known = [at for at in (self.oldest_seen, *measured) if at]
        return max((self.now - min(known)).total_seconds(), 0.0) if known else None


_health = Statement.beside(__file__, Facts)


def health(*, project_id: UUID, window: Window, queue_id: UUID | None = None) -> list[Facts]:
    """A page of a project's queues, or one of them."""
    return _health(
        project_id=project_id,
        queue_id=queue_id,
        limit=window.limit,
        older_than=window.older_than,
        newer_than=window.newer_than,
        cap=CAP,
    )
