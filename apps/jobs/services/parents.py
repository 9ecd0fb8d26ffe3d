"""Change whom a job waits for, on someone's behalf."""

from typing import Any
from uuid import UUID

from django.db import transaction

from apps.audit.record import Actor
from apps.errors import IllegalMove
from apps.jobs.engine import set_parents as engine
from apps.jobs.engine.set_parents import Reparented
from apps.jobs.engine.wake import wake_promoter, wake_queue
from apps.jobs.selectors import find
from apps.jobs.services.check import check_field
from apps.jobs.services.recorded import recorded
from apps.jobs.services.submit import let_through
from apps.jobs.states import JobState


@transaction.atomic
def set_parents(*, job_id: UUID, actor: Actor, depends_on: Any) -> Reparented:
    """Let a job that has not been started wait for these jobs and no others; IllegalMove names any other state.

    Raises BadInput at #/depends_on/<n> for a job that is not of its project and for itself, at #/depends_on for a circle,
    naming it.
    """
    parents: list[UUID] = check_field("depends_on", depends_on)
    done = engine.set_parents(job_id=job_id, parents=parents)
    if done is None:
        job = find(job_id)
        says = f"it is {job.state}" + (f", and has made {job.attempt} attempts" if job.attempt else "")
        raise IllegalMove(f"Only a job that has not been started can wait for other jobs: {says}.")
    if done.state == JobState.QUEUED and done.before != JobState.QUEUED:
        if done.concurrency_key is not None:
            let_through({(done.queue_id, done.concurrency_key)})
        wake_queue(done.queue_id)
    elif done.state == JobState.SCHEDULED:
        wake_promoter()
    before = {"depends_on": [str(parent) for parent in done.parents], "state": done.before}
    after = {"depends_on": sorted(map(str, set(parents))), "state": done.state}
    recorded(job_id, actor, "job.depends_on", before=before, after=after)
    return done
