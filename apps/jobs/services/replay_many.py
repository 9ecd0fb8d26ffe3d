"""Replay a queue's dead letters in bulk, on someone's behalf."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.timezone import now

from apps.audit.record import Actor, record
from apps.errors import BadInput, Conflict
from apps.jobs.engine.wake import wake_promoter, wake_queue
from apps.jobs.selectors import dead_letters
from apps.jobs.services.replayed import replayed
from apps.queues.models import Queue
from apps.queues.selectors import with_depth

SLOWEST, FASTEST = 0.001, 10_000.0  # dead letters replayed per second
SOME = 100  # replayed by one statement, as long as nothing stands in their way
SKIPPED_MAX = 1000  # named in one answer


@dataclass(slots=True)
class ReplayedQueue:
    """How many were replayed, which were left because something stands in their way, and whether there are more.

    `full`: it stopped because the queue holds as many jobs as it may. `upto`: the last one it looked at, and `due`, when at
    its rate the next may come: from there another call goes on.
    """

    replayed: int = 0
    skipped: list[UUID] = field(default_factory=list)
    full: bool = False
    more: bool = False
    upto: UUID | None = None
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """When each of many comes: from `begin` on, so many milliseconds apart."""

    gap_ms: float
    wait_ms: float
    begin: datetime

    @classmethod
    def of(cls, rate_per_second: float | None, due: datetime | None) -> "Pace":
        begin = max(now(), due) if due and rate_per_second else now()
        return cls(
            1000 / rate_per_second if rate_per_second else 0.0, (begin - now()) / timedelta(milliseconds=1), begin
        )

    def delay_ms(self, place: int) -> int:
        return max(0, round(self.wait_ms + place * self.gap_ms))

    def due_after(self, count: int) -> datetime | None:
        return self.begin + count * timedelta(milliseconds=self.gap_ms) if self.gap_ms else None


@transaction.atomic
def replay_queue(
    *,
    queue: Queue,
    actor: Actor,
    limit: int = 100,
    rate_per_second: float | None = None,
    error_class: str | None = None,
    after: UUID | None = None,
    due: datetime | None = None,
) -> ReplayedQueue:
    """Replay up to `limit` dead letters of a queue, oldest first, those `after` one; at a rate, their run_at are staggered.

    It goes past those that something stands in the way of, and stops where the queue's max_depth would be passed. At a rate
    the first comes when it is `due`: a call that goes on from another keeps its distance.
    """
    if rate_per_second is not None and not SLOWEST <= rate_per_second <= FASTEST:
        raise BadInput.at("#/rate_per_second", f"This must be between {SLOWEST} and {FASTEST}.")
    room, pace = room_of(queue), Pace.of(rate_per_second, due)
    done = ReplayedQueue(full=room is not None and room < limit, upto=after)
    _walk(queue, done, min(limit, limit if room is None else room), pace, error_class)
    left = dead_letters(queue=queue, limit=1, error_class=error_class, after=done.upto)
    done.more, done.full, done.due = bool(left), done.full and bool(left), pace.due_after(done.replayed)
    if done.replayed:
        wake_queue(queue.id)
    if rate_per_second and done.replayed:
        wake_promoter()
    _recorded(queue, actor, {"replayed": done.replayed, "skipped": len(done.skipped), "error_class": error_class})
    return done


def room_of(queue: Queue) -> int | None:
    """How many more the queue may hold, by its depth as it was last measured; None: any number."""
    if queue.max_depth is None:
        return None
    read: Any = with_depth(Queue.objects.filter(pk=queue.pk)).first() or queue
    return max(0, queue.max_depth - (getattr(read, "cached_depth", None) or 0))


def _walk(queue: Queue, done: ReplayedQueue, limit: int, pace: Pace, error_class: str | None) -> None:
    """From the oldest on, until so many are replayed."""
    while (wanted := limit - done.replayed) > 0 and len(done.skipped) < SKIPPED_MAX:
        some = dead_letters(queue=queue, limit=min(SOME, wanted), error_class=error_class, after=done.upto)
        if not some:
            break
        done.upto = some[-1]
        _replay_some(some, done, pace)


def _replay_some(some: Sequence[UUID], done: ReplayedQueue, pace: Pace) -> None:
    """All at once; where something stands in the way of one of them, each half for itself, until it stands alone."""
    delays = {job_id: pace.delay_ms(done.replayed + place) for place, job_id in enumerate(some)}
    try:
        with transaction.atomic():
            done.replayed += len(replayed(delays_ms=delays))
    except Conflict:
        if len(some) == 1:
            done.skipped.append(some[0])
            return
        half = len(some) // 2
        _replay_some(some[:half], done, pace)
        _replay_some(some[half:], done, pace)


def _recorded(queue: Queue, actor: Actor, after: dict[str, Any]) -> None:
    record(
        actor=actor,
        organization_id=queue.project.organization_id,
        action="queue.replay",
        target_type="queue",
        target_id=queue.id,
        after=after,
    )
