"""Approve or reject a job that waits for somebody's word, on someone's behalf."""

from uuid import UUID

from django.db import transaction

from apps.audit.record import Actor
from apps.errors import IllegalMove
from apps.jobs.engine import approve as approvals
from apps.jobs.engine import reject as rejections
from apps.jobs.engine.wake import wake_promoter, wake_queue
from apps.jobs.selectors import find
from apps.jobs.services.recorded import recorded
from apps.jobs.services.submit import let_through
from apps.jobs.states import JobState, Reason

BEFORE = {"state": JobState.AWAITING_APPROVAL.value}


@transaction.atomic
def approve(*, job_id: UUID, actor: Actor, note: str = "") -> None:
    """Let a job go on that awaits approval; its handler hears of it. IllegalMove names any other state."""
    done = approvals.approve(job_id=job_id, by=actor.name, note=note)
    if done is None:
        raise _not_asked(job_id)
    if done.state == JobState.SCHEDULED:
        wake_promoter()
    elif done.concurrency_key is not None:
        let_through({(done.queue_id, done.concurrency_key)})
    wake_queue(done.queue_id)
    recorded(job_id, actor, "job.approve", before=BEFORE, after={"state": done.state, "note": note})


@transaction.atomic
def reject(*, job_id: UUID, actor: Actor, note: str = "") -> None:
    """Cancel a job that awaits approval, the note kept on it. IllegalMove names any other state."""
    woken = rejections.reject(job_id=job_id, by=actor.name, note=note)
    if woken is None:
        raise _not_asked(job_id)
    for queue_id in woken:
        wake_queue(queue_id)
    after = {"state": JobState.CANCELLED.value, "reason": Reason.REJECTED.value, "note": note}
    recorded(job_id, actor, "job.reject", before=BEFORE, after=after)


def _not_asked(job_id: UUID) -> IllegalMove:
    return IllegalMove(f"Only a job that awaits approval can be decided upon; this one is {find(job_id).state}.")
