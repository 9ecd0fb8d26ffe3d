"""Reads of queues and retry policies."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, F, FilteredRelation, OuterRef, Q, QuerySet, When
from django.db.models.functions import Now

from apps.accounts.models import Project
from apps.accounts.selectors import Caller, reach, reachable
from apps.queues.engine.reached import reached
from apps.queues.models import BreakerState, PausedType, Queue, RetryPolicy

BREAKER_FACTS = ("breaker", "reopens_at", "trips", "probe_job")
DEPTH_BELIEVED = timedelta(minutes=1)  # with no scheduler left to measure, a queue that was full must not stay so


def queues(caller: Caller) -> QuerySet[Queue]:
    """The queues a caller may see."""
    rows = Queue.objects.select_related("project")
    return reachable(rows, caller, project="project", organization="project__organization")


def with_depth(rows: QuerySet[Queue]) -> QuerySet[Queue]:
    """Each with its `cached_depth`, in the same statement; None where nobody has measured it lately."""
    fresh = When(depth__measured_at__gt=Now() - DEPTH_BELIEVED, then=F("depth__queued"))
    return rows.annotate(cached_depth=Case(fresh))


def submittable(caller: Caller, queue_id: UUID) -> Queue | None:
    """One of `queues`, `with_depth`, as far as submitting reads it; not by the ORM, which would make the statement anew."""
    bounds = {"organization_id": caller.organization_id, "project_id": caller.project_id}
    found = reached(queue_id=queue_id, user_id=caller.user.pk, believed=DEPTH_BELIEVED, **bounds)
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class BreakerNow:
    """Whether a queue's breaker lets jobs through, and since how many trips it does not."""

    state: BreakerState = BreakerState.CLOSED
    reopens_at: datetime | None = None  # when an open one lets a job try
    trips: int = 0
    probe_job: UUID | None = None  # the one that tries

    @property
    def is_closed(self) -> bool:
        return self.state == BreakerState.CLOSED


def with_breaker(rows: QuerySet[Queue]) -> QuerySet[Queue]:
    """Each with what `breaker_now` needs, in the same statement."""
    first = FilteredRelation("gates", condition=Q(gates__shard=0))
    facts = {f"gate_{name}": F(f"first__{name}") for name in BREAKER_FACTS}
    return rows.annotate(first=first).annotate(**facts)


def breaker_now(queue: Queue) -> BreakerNow:
    """The state of a queue's breaker; one more statement where the queue was not read `with_breaker`."""
    read: Any = queue if "gate_breaker" in vars(queue) else with_breaker(Queue.objects.filter(pk=queue.pk)).first()
    if read is None or read.gate_breaker is None:
        return BreakerNow()
    return BreakerNow(BreakerState(read.gate_breaker), read.gate_reopens_at, read.gate_trips, read.gate_probe_job)


def projects_with_queues(caller: Caller) -> QuerySet[Project]:
    """The projects a caller may see, each with the `queue_ids` it has, in one statement."""
    ids = Queue.objects.filter(project=OuterRef("pk")).order_by("id").values("id")
    return reach.projects(caller).annotate(queue_ids=ArraySubquery(ids))


def paused_types(project: Project) -> list[PausedType]:
    """The job types that a project has paused now."""
    rows = PausedType.objects.filter(project=project).order_by("type")
    return list(rows.filter(Q(paused_until=None) | Q(paused_until__gt=Now())))


def policies(caller: Caller) -> QuerySet[RetryPolicy]:
    """The retry policies a caller may see."""
    rows = RetryPolicy.objects.select_related("project")
    return reachable(rows, caller, project="project", organization="project__organization")


def policy_named(project_id: UUID, given: str) -> RetryPolicy | None:
    """A retry policy of a project by its id or its name."""
    rows = RetryPolicy.objects.filter(project_id=project_id)
    try:
        return rows.filter(id=UUID(given)).first()
    except ValueError:
        return rows.filter(name=given).first()
