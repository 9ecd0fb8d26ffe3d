"""Replay and discard dead letters, on someone's behalf."""

from typing import Any
from uuid import UUID

from django.db import transaction

from apps.audit.record import Actor, record
from apps.errors import BadInput, IllegalMove
from apps.jobs.engine import discard as discard_engine
from apps.jobs.engine.wake import wake_queue
from apps.jobs.models import Job
from apps.jobs.selectors import find, organization_of
from apps.jobs.services.check import KEPT, check
from apps.jobs.services.recorded import recorded
from apps.jobs.services.replayed import replayed
from apps.jobs.states import JobState


@transaction.atomic
def replay(*, job_id: UUID, actor: Actor, payload: Any = KEPT, revive_descendants: bool = False) -> None:
    """Run a dead letter again as a new generation, with another payload if one is given.

    That one is checked as a submission's is (BadInput); the one it had stays in the audit trail, and with the job. Raises
    IllegalMove, KeyTaken, NotReplayable.
    """
    before, edited = {}, None
    if payload is not KEPT:
        job = find(job_id, among=Job.objects.select_related("queue"))
        edited = _checked(job, payload)
        before = {"payload": job.payload}
    rows = replayed(delays_ms={job_id: 0}, payload=edited, revive_descendants=revive_descendants)
    if not rows:
        raise IllegalMove(f"Only a dead letter can be replayed; this job is {find(job_id).state}.")
    wake_queue(rows[0].queue_id)
    after = {"revive_descendants": revive_descendants, **({"payload": payload} if before else {})}
    recorded(job_id, actor, "job.replay", before=before or None, after=after)


def _checked(job: Job, payload: Any) -> str:
    """The new payload as text; BadInput for one that this job could not be submitted with."""
    text: str = check({"type": job.type, "payload": payload})["payload"]
    if job.queue.allowed_types is not None and job.type not in job.queue.allowed_types:
        raise BadInput.at("#/payload", f"This queue does not take the type {job.type} any more.")
    return text


@transaction.atomic
def discard(*, job_id: UUID, actor: Actor) -> None:
    """Drop a dead letter for good; raises IllegalMove for a job in any other state."""
    organization_id, was = organization_of(job_id), find(job_id)
    if not discard_engine.discard(ids=[job_id]):
        raise IllegalMove(f"Only a {JobState.DEAD_LETTER} can be discarded; this job is {find(job_id).state}.")
    record(
        actor=actor,
        organization_id=organization_id,
        action="job.discard",
        target_type="job",
        target_id=job_id,
        before={"type": was.type, "queue": str(was.queue_id), "reason": was.reason, "attempt": was.attempt},
    )
