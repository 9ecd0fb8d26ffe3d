"""Run a waiting job now, on someone's behalf."""

from uuid import UUID

from django.db import transaction

from apps.audit.record import Actor
from apps.errors import IllegalMove
from apps.jobs.engine import retry_now as engine
from apps.jobs.engine.wake import wake_queue
from apps.jobs.selectors import find
from apps.jobs.services.recorded import recorded
from apps.jobs.states import JobState


@transaction.atomic
def retry_now(*, job_id: UUID, actor: Actor) -> None:
    """Queue a scheduled job, one that waits for its retry, or from the start one whose handler asked for approval.

    IllegalMove names any other state; a job that was submitted to be approved is approved, not retried.
    """
    queue_id = engine.retry_now(job_id=job_id)
    if queue_id is None:
        raise IllegalMove(f"Only a job that waits for its time can be retried; this one is {find(job_id).state}.")
    wake_queue(queue_id)
    recorded(job_id, actor, "job.retry", after={"state": JobState.QUEUED.value})
