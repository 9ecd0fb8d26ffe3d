"""Dead letters run again where their workflows let them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from apps.errors import IllegalMove
from apps.jobs.engine.join_workflows import join_workflows
from apps.jobs.engine.pause_workflow import pause_workflow
from apps.jobs.engine.replay import Replayed, replay
from apps.jobs.models import Job
from apps.jobs.selectors import DEAD_LETTERS


def replayed(*, delays_ms: Mapping[UUID, int], **how: Any) -> list[Replayed]:
    """Replay; what belongs to a workflow that is paused waits for its resume, and IllegalMove names one that was cancelled."""
    dead = Job.objects.filter(shelved_on=DEAD_LETTERS, id__in=list(delays_ms), workflow_id__isnull=False)
    workflows = join_workflows({one for one in dead.order_by().values_list("workflow_id", flat=True) if one})
    for one in workflows.values():
        if one.is_cancelled:
            raise IllegalMove(f"Its workflow {one.id} was cancelled.")
    rows = replay(delays_ms=delays_ms, **how)
    for one in workflows.values():
        if rows and one.is_paused:
            pause_workflow(workflow_id=one.id)
    return rows
