"""Search lists of jobs by what no index knows, in bounded steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from apps.jobs.states import LIVE, JobState
from apps.sql import Statement

LOOKS = (2_000, 20_000)  # jobs looked through, shared among the queues: few first, for most answers are near
LEAST = 200  # of each of them
LAST = UUID(int=2**128 - 1)
DAY = timedelta(days=1)  # around midnight this clock and the database's may name different days


@dataclass(frozen=True, slots=True)
class Found:
    """Ids that fit, newest first; `edge` is where the look ended, None if there is nothing further back."""

    ids: list[UUID]
    edge: UUID | None

    @property
    def back_to(self) -> datetime | None:
        """When the job at the edge was made: its UUIDv7 says it."""
        return datetime.fromtimestamp((self.edge.int >> 80) / 1000, UTC) if self.edge else None


@dataclass(frozen=True, slots=True)
class _Hit:
    job_id: UUID | None
    edge: UUID | None


_search = Statement.beside(__file__, _Hit)


def search_jobs(
    *, queue_ids: Sequence[UUID], state: str | None, type: str | None, below: UUID | None, limit: int
) -> Found:
    """One step: up to `limit` jobs in this state, of this type, among the newest below an id."""
    found = Found([], None)
    for look in LOOKS:
        rows = _search(
            queue_ids=list(queue_ids),
            state=state,
            type=type,
            below=below or LAST,
            limit=limit,
            look=max(LEAST, look // max(len(queue_ids), 1)),
            **_shelves(state),
        )
        ids = [row.job_id for row in rows if row.job_id]
        found = Found(ids, rows[0].edge if len(ids) < limit else ids[-1])
        if len(ids) >= limit or found.edge is None:
            break
    return found


def _shelves(state: str | None) -> dict[str, object]:
    """The parts of the table that can hold a state."""
    ended = state is None or state in (JobState.COMPLETED, JobState.CANCELLED)
    today = datetime.now(UTC).date()
    return {
        "live": state is None or state in LIVE,
        "dead": state is None or state == JobState.DEAD_LETTER,
        "since": date.min if ended else today + DAY,
        "until": today + DAY if ended else today,
    }
