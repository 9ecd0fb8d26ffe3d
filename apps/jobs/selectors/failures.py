"""What failed in a queue of late, as it was last summarized."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.jobs.engine.summarize import ROWS_MAX
from apps.jobs.models import Attempt
from apps.jobs.states import FAILED
from apps.queues.models import FailureSummary
from apps.queues.states import SummaryState

FACTS = ("error_class", "top_frame", "count", "jobs", "distinct_messages", "latest_message")


@dataclass(frozen=True, slots=True)
class Group:
    """Failures of one class from one place; `job` and `attempt` are the newest of them."""

    error_class: str
    top_frame: str | None
    count: int
    jobs: int
    distinct_messages: int
    latest_message: str
    first_seen: datetime
    last_seen: datetime
    job: UUID
    attempt: int


@dataclass(frozen=True, slots=True)
class Failures:
    """The groups of a queue, the largest first, and what a model says of them."""

    queue: UUID
    window_hours: int
    failures: list[Group]
    looked_at: int  # the newest failures, which the groups are made of
    computed_at: datetime | None
    summary: str
    model: str | None
    told_at: datetime | None
    state: SummaryState

    @property
    def capped(self) -> bool:
        """Whether there may be more than were looked at."""
        return self.looked_at >= ROWS_MAX


def failures(queue_id: UUID) -> Failures:
    """The summary of a queue's failures; an empty one where nobody has made one yet."""
    kept = FailureSummary.objects.filter(queue=queue_id).first()
    if kept is None:
        state = SummaryState.PENDING if _has_failed(queue_id) else SummaryState.CURRENT
        kept = FailureSummary(queue_id=queue_id, window_hours=settings.FAILURE_WINDOW_HOURS, state=state)
    return Failures(
        queue=queue_id,
        window_hours=kept.window_hours,
        failures=[_group(one) for one in kept.failures],
        looked_at=kept.looked_at,
        computed_at=kept.computed_at,
        summary=kept.summary,
        model=kept.model or None,
        told_at=kept.told_at if kept.summary else None,
        state=SummaryState(kept.state),
    )


def _has_failed(queue_id: UUID) -> bool:
    """By the index of failures: there is one, or there is none."""
    now = datetime.now(UTC)
    since = now - timedelta(hours=settings.FAILURE_WINDOW_HOURS)
    window = (since, now + timedelta(minutes=1))  # the days ahead are left out
    return Attempt.objects.filter(queue_id=queue_id, finished_at__range=window, outcome__in=FAILED).order_by().exists()


def _group(kept: dict[str, Any]) -> Group:
    """Only what is known here: during a deploy another release may have written it."""
    return Group(
        **{name: kept[name] for name in FACTS},
        first_seen=datetime.fromisoformat(kept["first_seen"]),
        last_seen=datetime.fromisoformat(kept["last_seen"]),
        job=UUID(kept["sample"]["job"]),
        attempt=kept["sample"]["attempt"],
    )
