"""Change where a waiting job stands: its priority, its time, its place in line; on someone's behalf."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.audit.record import Actor, spoken
from apps.errors import IllegalMove
from apps.jobs.engine import move as moves
from apps.jobs.engine import reschedule as times
from apps.jobs.engine import run_next as nexts
from apps.jobs.engine import set_priority as priorities
from apps.jobs.engine.move import Moved
from apps.jobs.engine.wake import wake_promoter, wake_queue
from apps.jobs.selectors import find
from apps.jobs.services.recorded import recorded


@transaction.atomic
def set_priority(*, job_id: UUID, actor: Actor, priority: int) -> None:
    """Change the priority of a job that waits, for whatever it waits; IllegalMove names any other state."""
    rows = priorities.set_priority(ids=[job_id], priority=priority)
    if not rows:
        raise IllegalMove(f"Only a job that waits has a priority to change; this one is {find(job_id).state}.")
    recorded(job_id, actor, "job.priority", before={"priority": rows[0].before}, after={"priority": priority})


@transaction.atomic
def reschedule(
    *, job_id: UUID, actor: Actor, run_at: datetime | None = None, delay_seconds: float | None = None
) -> None:
    """Let a waiting job be due at a time, or so long from now; a time that has passed means now.

    IllegalMove names the state of one that runs or has ended.
    """
    delay_ms = None if delay_seconds is None else round(delay_seconds * 1000)
    done = times.reschedule(job_id=job_id, run_at=run_at, delay_ms=delay_ms)
    if done is None:
        raise IllegalMove(f"Only a job that waits can be given a time; this one is {find(job_id).state}.")
    wake_queue(done.queue_id)
    wake_promoter()
    recorded(
        job_id,
        actor,
        "job.reschedule",
        before={"run_at": spoken(done.run_at_before), "state": done.before},
        after={"run_at": spoken(done.run_at), "state": done.after},
    )


@transaction.atomic
def move(*, job_id: UUID, actor: Actor, to: str) -> Moved:
    """Move a queued job up, down, to the top or bottom of those of its queue, priority and target worker.

    IllegalMove names any other state.
    """
    done = moves.move(job_id=job_id, to=to)
    if done is None:
        raise IllegalMove(f"Only a job that is queued has a place in line; this one is {find(job_id).state}.")
    recorded(job_id, actor, "job.move", before={"place": done.before}, after={"place": done.after, "to": to})
    return done


@transaction.atomic
def run_next(*, job_id: UUID, actor: Actor) -> None:
    """Let a job that is queued, or waits for its time, be the next its queue hands out; IllegalMove names other states."""
    done = nexts.run_next(job_id=job_id)
    if done is None:
        state = find(job_id).state
        raise IllegalMove(f"Only a job that is queued or waits for its time can run next; this one is {state}.")
    wake_queue(done.queue_id)
    recorded(job_id, actor, "job.run_next", before={"state": done.before}, after={"state": done.after})
