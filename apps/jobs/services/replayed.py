"""Dead letters run again where their workflows let them."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from apps.errors import IllegalMove
from apps.jobs.engine.join_workflows import join_workflows
from apps.jobs.engine.left_behind import left_behind
from apps.jobs.engine.pause_workflow import pause_workflow
from apps.jobs.engine.replay import Replayed, replay
from apps.jobs.models import Job
from apps.jobs.selectors import DEAD_LETTERS


def replayed(
    *, delays_ms: Mapping[UUID, int], within: Collection[UUID] = (), revive_descendants: bool = False, **how: Any
) -> list[Replayed]:
    """Replay; what belongs to a workflow that is paused waits for its resume, and IllegalMove names one that was cancelled.

    Workflows are held before any job, so whose descendants come back is looked up first, and again by the replay.
    `within` are workflows that are held and asked whatever there is to replay.
    """
    homes = set(within) | _homes(delays_ms)
    if revive_descendants:
        homes |= {one.workflow_id for one in left_behind(ids=list(delays_ms)) if one.workflow_id}
    workflows = join_workflows(homes)
    for one in workflows.values():
        if one.is_cancelled:
            raise IllegalMove(f"Its workflow {one.id} was cancelled.")
    rows = replay(delays_ms=delays_ms, revive_descendants=revive_descendants, held=workflows.keys(), **how)
    for one in workflows.values():
        if rows and one.is_paused:
            pause_workflow(workflow_id=one.id)
    return rows


def _homes(ids: Collection[UUID]) -> set[UUID]:
    """The workflows of these dead letters."""
    dead = Job.objects.filter(shelved_on=DEAD_LETTERS, id__in=list(ids), workflow_id__isnull=False)
    return {one for one in dead.order_by().values_list("workflow_id", flat=True) if one}
