"""A project at a glance: its queues with what they hold, and what is wrong with them."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.utils.timezone import now

from apps.accounts.models import Project
from apps.dashboard.engine.queue_counts import CAP, Counts, queue_counts
from apps.dashboard.selectors.fleet import Fleet, fleet
from apps.jobs.engine.unannounced import Unannounced, unannounced
from apps.queues.models import BreakerState, Queue
from apps.queues.selectors import BreakerNow, breaker_now, with_breaker

LATE = timedelta(minutes=5)  # how long the oldest may wait before the queue is called late
DEPLOYING = timedelta(seconds=30)  # how long a type may wait for a worker that knows it, before that is said aloud
NAMED = 3  # such types in a sentence


@dataclass(frozen=True, slots=True)
class Line:
    """One queue, what it holds and how it does."""

    queue: Queue
    counts: Counts
    health: str  # moving, idle, paused, tripped, late, stuck
    why: str
    unknown: list[Unannounced] = field(default_factory=list)  # types that wait and no live worker knows
    breaker: BreakerNow = field(default_factory=BreakerNow)

    @property
    def needs_a_look(self) -> bool:
        return self.health in ("tripped", "late", "stuck")

    @property
    def is_paused(self) -> bool:
        return self.health == "paused"

    @property
    def is_capped(self) -> bool:
        return self.counts.waiting >= CAP


@dataclass(frozen=True, slots=True)
class Overview:
    lines: list[Line]
    fleet: Fleet

    @property
    def waiting(self) -> int:
        return sum(line.counts.waiting for line in self.lines)

    @property
    def is_capped(self) -> bool:
        return any(line.is_capped for line in self.lines)

    @property
    def running(self) -> int:
        return sum(line.counts.running for line in self.lines)

    @property
    def dead(self) -> int:
        return sum(line.counts.dead for line in self.lines)

    @property
    def dead_is_capped(self) -> bool:
        return any(line.counts.dead >= CAP for line in self.lines)

    @property
    def oldest(self) -> Line | None:
        """The queue whose first job has waited longest; an age beats a depth."""
        waiting = [line for line in self.lines if line.counts.oldest_at]
        return min(waiting, key=lambda line: line.counts.oldest_at or now(), default=None)

    @property
    def troubled(self) -> list[Line]:
        return [line for line in self.lines if line.needs_a_look]

    @property
    def paused(self) -> list[Line]:
        return [line for line in self.lines if line.health == "paused"]


def overview(project: Project) -> Overview:
    """Count and judge every queue of a project."""
    queues = list(with_breaker(Queue.objects.filter(project=project)).select_related("retry_policy").order_by("name"))
    return _judge(project, queues)


def line_of(queue: Queue) -> tuple[Line, Fleet]:
    """The same for a single queue."""
    seen = _judge(queue.project, [queue])
    return seen.lines[0], seen.fleet


def _judge(project: Project, queues: list[Queue]) -> Overview:
    workers = fleet(project=project, queues=queues)
    held = {counts.queue_id: counts for counts in queue_counts(queue_ids=[queue.pk for queue in queues])}
    unknown = unknown_types(list(held.values()))
    lines = [_line(queue, held[queue.pk], workers, unknown[queue.pk]) for queue in queues]
    return Overview(lines, workers)


def unknown_types(held: list[Counts]) -> dict[UUID, list[Unannounced]]:
    """By queue, what waits there and no live worker knows; asked only where anything waits."""
    found: dict[UUID, list[Unannounced]] = defaultdict(list)
    waiting = [counts.queue_id for counts in held if counts.waiting]
    for one in unannounced(queue_ids=waiting) if waiting else ():
        found[one.queue_id].append(one)
    return found


def _line(queue: Queue, counts: Counts, workers: Fleet, unknown: list[Unannounced]) -> Line:
    breaker = breaker_now(queue)
    held_up = _held_up(queue, breaker)
    return Line(queue, counts, *(held_up or _health(queue, counts, workers, unknown)), unknown, breaker)


def _held_up(queue: Queue, breaker: BreakerNow) -> tuple[str, str] | None:
    if is_paused(queue):
        return "paused", " · ".join(
            filter(None, [f"by {queue.paused_by}" if queue.paused_by else "", queue.pause_reason])
        )
    if breaker.is_closed:
        return None
    if breaker.state == BreakerState.HALF_OPEN:
        return "tripped", "its breaker lets one job at a time try"
    return "tripped", "its breaker is open: " + ("too many jobs failed" if breaker.trips else "somebody opened it")


def _health(queue: Queue, counts: Counts, workers: Fleet, unknown: list[Unannounced]) -> tuple[str, str]:
    if counts.waiting and not workers.serves(queue.pk):
        return "stuck", "no live worker serves this queue"
    if unknown and _age(unknown[0].oldest_at) > DEPLOYING:
        alone = sum(one.jobs for one in unknown) >= counts.waiting
        return "stuck" if alone else "late", f"no live worker knows {names_of(unknown)}"
    if counts.oldest_at and _age(counts.oldest_at) > LATE:
        return "late", _why_late(queue, counts, workers)
    return ("moving", "") if counts.waiting or counts.running else ("idle", "")


def _why_late(queue: Queue, counts: Counts, workers: Fleet) -> str:
    if queue.max_concurrency and counts.running >= queue.max_concurrency:
        return f"all {queue.max_concurrency} slots of its cap are in use"
    if workers.held >= workers.slots:
        return f"all {workers.slots} slots of the live workers are in use"
    if not counts.running:
        return "no live worker takes its jobs"
    return "jobs come in faster than they are run"


def names_of(unknown: list[Unannounced]) -> str:
    """A few of these types by name, and how many more."""
    more = len(unknown) - NAMED
    return ", ".join(one.type for one in unknown[:NAMED]) + (f" and {more} more" if more > 0 else "")


def is_paused(queue: Queue) -> bool:
    """A pause with an end is over by itself."""
    return queue.paused_at is not None and (queue.paused_until is None or queue.paused_until > now())


def _age(since: datetime) -> timedelta:
    return now() - since
