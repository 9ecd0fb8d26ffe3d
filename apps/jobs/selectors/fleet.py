"""The workers that serve some queues, as the tenant of those queues may see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils.timezone import now

from apps.accounts.models import Project
from apps.jobs.models import Job
from apps.jobs.states import JobState
from apps.workers.models import Session

SHOWN_FOR = timedelta(days=1)  # after it fell silent


@dataclass(frozen=True, slots=True)
class Member:
    """A session and its worker; `held_jobs` counts the tenant's alone."""

    session: Session
    state: str
    held_jobs: int


def serving(*, project: Project, queue_ids: Sequence[UUID]) -> QuerySet[Session]:
    """Sessions that have not said goodbye, the last of each worker that serves one of these queues."""
    all_of_them = Session.objects.filter(
        Q(queues=[]) | Q(queues__overlap=list(queue_ids)),
        Q(worker__organization=None) | Q(worker__organization=project.organization_id),
        ended_at=None,
        lease_expires_at__gt=now() - SHOWN_FOR,
    )
    newest = all_of_them.order_by("worker_id", "-id").distinct("worker_id")
    return Session.objects.filter(pk__in=newest.values("pk")).select_related("worker")


def fleet(*, project: Project, queue_ids: Sequence[UUID]) -> list[Member]:
    """All of them, by name."""
    found = members(list(serving(project=project, queue_ids=queue_ids)), queue_ids)
    return sorted(found, key=lambda member: member.session.worker.uid)


def members(sessions: Sequence[Session], queue_ids: Sequence[UUID]) -> list[Member]:
    """What the tenant of these queues sees of some sessions."""
    held = _held([session.pk for session in sessions], queue_ids)
    return [Member(session, state_of(session), held.get(session.pk, 0)) for session in sessions]


def _held(session_ids: Sequence[UUID], queue_ids: Sequence[UUID]) -> dict[UUID, int]:
    running = Job.objects.filter(
        shelved_on=None, state=JobState.RUNNING, session_id__in=session_ids, queue_id__in=queue_ids
    )
    return dict(running.order_by().values_list("session_id").annotate(count=Count("id")))


def pools_of(session: Session) -> dict[str, int]:
    """Its slots by pool. What a pool is for stays here: queues of other tenants may be named there."""
    return {name: kept["slots"] for name, kept in session.pools.items()}


def state_of(session: Session) -> str:
    """Live, draining or offline, in a word."""
    if session.ended_at or session.fenced_at or session.lease_expires_at < now():
        return "offline"
    return "draining" if session.draining or session.worker.drained_at else "live"
