"""Dead letters run again where their workflows let them."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.errors import IllegalMove
from apps.jobs.engine.join_workflows import join_workflows
from apps.jobs.engine.pause_workflow import pause_workflow
from apps.jobs.engine.replay import Replayed, Unheld, replay
from apps.jobs.models import Job
from apps.jobs.selectors import DEAD_LETTERS


def replayed(*, delays_ms: Mapping[UUID, int], within: Collection[UUID] = (), **how: Any) -> list[Replayed]:
    """Replay; what belongs to a workflow that is paused waits for its resume, and IllegalMove names one that was cancelled.

    Workflows are held before any job. So where descendants of other workflows come back, all is let go of, and begun
    again with those. `within` are the workflows of what is to be replayed, where the caller knows.
    """
    homes = set(within) or _homes(delays_ms)
    while True:
        try:
            with transaction.atomic():
                return _replayed(homes, delays_ms=delays_ms, **how)
        except Unheld as others:
            homes |= others.workflows


def _replayed(homes: Collection[UUID], **how: Any) -> list[Replayed]:
    workflows = join_workflows(homes)
    for one in workflows.values():
        if one.is_cancelled:
            raise IllegalMove(f"Its workflow {one.id} was cancelled.")
    rows = replay(held=homes, **how)
    for one in workflows.values():
        if rows and one.is_paused:
            pause_workflow(workflow_id=one.id)
    return rows


def _homes(ids: Collection[UUID]) -> set[UUID]:
    """The workflows of these dead letters."""
    dead = Job.objects.filter(shelved_on=DEAD_LETTERS, id__in=list(ids), workflow_id__isnull=False)
    return {one for one in dead.order_by().values_list("workflow_id", flat=True) if one}
