"""Pause and resume one job; resume a job type; on someone's behalf."""

from uuid import UUID

from django.db import transaction

from apps.accounts.models import Project
from apps.audit.record import Actor
from apps.errors import IllegalMove
from apps.jobs.engine import pause as pauses
from apps.jobs.engine import resume as resumes
from apps.jobs.engine.wake import wake_queue
from apps.jobs.selectors import find
from apps.jobs.services.join import hold_workflow_of
from apps.jobs.services.recorded import recorded
from apps.jobs.states import JobState
from apps.queues import services as queues
from apps.queues.models import Queue


@transaction.atomic
def pause_job(*, job_id: UUID, actor: Actor, reason: str = "") -> None:
    """Hold a waiting job back until it is resumed; IllegalMove names any other state, but for one that is paused."""
    rows = pauses.pause(ids=[job_id])
    if rows:
        recorded(
            job_id,
            actor,
            "job.pause",
            before={"state": rows[0].before},
            after={"state": rows[0].after, "reason": reason},
        )
    elif (state := find(job_id).state) != JobState.PAUSED:
        raise IllegalMove(f"Only a job that waits can be paused; this one is {state}.")


@transaction.atomic
def resume_job(*, job_id: UUID, actor: Actor) -> None:
    """Let a paused job go on from where it was held, with the rank it had; IllegalMove names any other state."""
    workflow = hold_workflow_of(job_id)
    if workflow and workflow.is_paused:
        raise IllegalMove(f"Its workflow is paused: resume workflow {workflow.id}.")
    rows = resumes.resume(ids=[job_id])
    if not rows:
        raise IllegalMove(f"Only a paused job can be resumed; this one is {find(job_id).state}.")
    wake_queue(rows[0].queue_id)
    recorded(job_id, actor, "job.resume", before={"state": rows[0].before}, after={"state": rows[0].after})


@transaction.atomic
def resume_type(*, project: Project, type: str, actor: Actor) -> bool:
    """Let workers claim jobs of a type again, and tell them; answers whether it was paused."""
    resumed = queues.resume_type(project=project, type=type, actor=actor)
    if resumed:
        for queue_id in Queue.objects.filter(project=project).values_list("pk", flat=True):
            wake_queue(queue_id)
    return resumed


def end_pauses() -> None:
    """End the pauses of queues and types whose time has come, and tell the workers."""
    for queue_id in queues.end_pauses():
        wake_queue(queue_id)
