"""Replay and discard dead letters, on someone's behalf."""

from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from apps.audit.record import Actor, record
from apps.errors import BadInput, Conflict, IllegalMove
from apps.jobs.engine import discard as discard_engine
from apps.jobs.engine import replay as replay_engine
from apps.jobs.engine.wake import wake_queue
from apps.jobs.selectors import dead_letters, find, organization_of
from apps.jobs.services.recorded import recorded
from apps.jobs.states import JobState
from apps.queues.models import Queue

SLOWEST, FASTEST = 0.001, 10_000.0  # dead letters replayed per second


@dataclass(frozen=True, slots=True)
class ReplayedQueue:
    """How many were replayed, and which were left because something stands in their way."""

    replayed: int = 0
    skipped: list[UUID] = field(default_factory=list)


@transaction.atomic
def replay(*, job_id: UUID, actor: Actor, revive_descendants: bool = False) -> None:
    """Run a dead letter again as a new generation. Raises IllegalMove, KeyTaken, NotReplayable."""
    rows = replay_engine.replay(delays_ms={job_id: 0}, revive_descendants=revive_descendants)
    if not rows:
        raise IllegalMove(f"Only a dead letter can be replayed; this job is {find(job_id).state}.")
    wake_queue(rows[0].queue_id)
    recorded(job_id, actor, "job.replay", after={"revive_descendants": revive_descendants})


@transaction.atomic
def replay_queue(
    *,
    queue: Queue,
    actor: Actor,
    limit: int = 100,
    rate_per_second: float | None = None,
    error_class: str | None = None,
) -> ReplayedQueue:
    """Replay up to `limit` dead letters of a queue, oldest first; at a rate, their run_at are staggered."""
    if rate_per_second is not None and not SLOWEST <= rate_per_second <= FASTEST:
        raise BadInput.at("#/rate_per_second", f"This must be between {SLOWEST} and {FASTEST}.")
    done, skipped = 0, []
    for job_id in dead_letters(queue=queue, limit=limit, error_class=error_class):
        delay = round(done * 1000 / rate_per_second) if rate_per_second else 0
        try:
            with transaction.atomic():
                done += len(replay_engine.replay(delays_ms={job_id: delay}))
        except Conflict:
            skipped.append(job_id)
    if done:
        wake_queue(queue.id)
    record(
        actor=actor,
        organization_id=queue.project.organization_id,
        action="queue.replay",
        target_type="queue",
        target_id=queue.id,
        after={"replayed": done, "skipped": len(skipped), "error_class": error_class},
    )
    return ReplayedQueue(done, skipped)


@transaction.atomic
def discard(*, job_id: UUID, actor: Actor) -> None:
    """Drop a dead letter for good; raises IllegalMove for a job in any other state."""
    organization_id = organization_of(job_id)
    if not discard_engine.discard(ids=[job_id]):
        raise IllegalMove(f"Only a {JobState.DEAD_LETTER} can be discarded; this job is {find(job_id).state}.")
    record(
        actor=actor,
        organization_id=organization_id,
        action="job.discard",
        target_type="job",
        target_id=job_id,
    )
