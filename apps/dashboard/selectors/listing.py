"""Short lists for a queue's page."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from apps.jobs.models import Job
from apps.jobs.selectors import DEAD_LETTERS
from apps.jobs.states import JobState
from apps.queues.models import Queue


def dead_letters(queue: Queue, limit: int) -> list[Job]:
    """The newest."""
    return list(_rows([queue.pk]).filter(shelved_on=DEAD_LETTERS).order_by("-id")[:limit])


def running(queue: Queue, limit: int) -> list[Job]:
    """Those that run longest first."""
    rows = _rows([queue.pk]).filter(shelved_on=None, state=JobState.RUNNING)
    return list(rows.order_by("started_at")[:limit])


def next_up(queue: Queue, limit: int) -> list[Job]:
    """What workers will be handed next, in that order."""
    rows = _rows([queue.pk]).filter(shelved_on=None, state=JobState.QUEUED, key_full=False, target=None)
    return list(rows.order_by("rank", "id")[:limit])


def _rows(queue_ids: Sequence[UUID]) -> QuerySet[Job]:
    return Job.objects.filter(queue_id__in=queue_ids).select_related("queue").defer("payload", "result")
