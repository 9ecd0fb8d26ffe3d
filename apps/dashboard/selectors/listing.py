"""Lists of jobs, newest first by id, each shelf by the index it has."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.jobs.models import Job
from apps.jobs.selectors import DEAD_LETTERS
from apps.jobs.states import FINAL, LIVE, JobState
from apps.queues.models import Queue


def jobs(
    *, queue_ids: Sequence[UUID], state: str | None, type: str | None, before: UUID | None, limit: int
) -> list[Job]:
    """Jobs of these queues on every shelf their state allows."""
    rows = _rows(queue_ids)
    if state is not None:
        rows = rows.filter(state=state, **_shelf(state))
    if type is not None:
        rows = rows.filter(type=type)
    if before is not None:
        rows = rows.filter(id__lt=before)
    return list(rows.order_by("-id")[:limit])


def dead_letters(queue_ids: Sequence[UUID], limit: int, *, before: UUID | None = None) -> list[Job]:
    rows = _rows(queue_ids).filter(shelved_on=DEAD_LETTERS)
    if before is not None:
        rows = rows.filter(id__lt=before)
    return list(rows.order_by("-id")[:limit])


def running(queue_ids: Sequence[UUID], limit: int) -> list[Job]:
    """Those that run longest first."""
    rows = _rows(queue_ids).filter(shelved_on=None, state=JobState.RUNNING)
    return list(rows.order_by("started_at")[:limit])


def next_up(queue: Queue, limit: int) -> list[Job]:
    """What workers will be handed next, in that order."""
    rows = _rows([queue.pk]).filter(shelved_on=None, state=JobState.QUEUED, key_full=False)
    return list(rows.order_by("rank", "id")[:limit])


def _rows(queue_ids: Sequence[UUID]) -> QuerySet[Job]:
    return Job.objects.filter(queue_id__in=queue_ids).select_related("queue").defer("payload", "result")


def _shelf(state: str) -> dict[str, Any]:
    if state in LIVE:
        return {"shelved_on": None}
    if state in FINAL and state == JobState.DEAD_LETTER:
        return {"shelved_on": DEAD_LETTERS}
    return {"shelved_on__lt": DEAD_LETTERS}
