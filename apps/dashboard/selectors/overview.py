"""A project at a glance: its queues with what they hold, and what is wrong with them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.timezone import now

from apps.accounts.models import Project
from apps.dashboard.engine.queue_counts import CAP, Counts, queue_counts
from apps.dashboard.selectors.fleet import Fleet, fleet
from apps.queues.models import Queue

LATE = timedelta(minutes=5)  # how long the oldest may wait before the queue is called late


@dataclass(frozen=True, slots=True)
class Line:
    """One queue, what it holds and how it does."""

    queue: Queue
    counts: Counts
    health: str  # moving, idle, paused, late, stuck
    why: str

    @property
    def needs_a_look(self) -> bool:
        return self.health in ("late", "stuck")

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
    queues = list(Queue.objects.filter(project=project).select_related("retry_policy").order_by("name"))
    return _judge(project, queues)


def line_of(queue: Queue) -> tuple[Line, Fleet]:
    """The same for a single queue."""
    seen = _judge(queue.project, [queue])
    return seen.lines[0], seen.fleet


def _judge(project: Project, queues: list[Queue]) -> Overview:
    workers = fleet(project=project, queues=queues)
    held = {counts.queue_id: counts for counts in queue_counts(queue_ids=[queue.pk for queue in queues])}
    lines = [_line(queue, held[queue.pk], workers) for queue in queues]
    return Overview(lines, workers)


def _line(queue: Queue, counts: Counts, workers: Fleet) -> Line:
    return Line(queue, counts, *_health(queue, counts, workers))


def _health(queue: Queue, counts: Counts, workers: Fleet) -> tuple[str, str]:
    if is_paused(queue):
        return "paused", " · ".join(
            filter(None, [f"by {queue.paused_by}" if queue.paused_by else "", queue.pause_reason])
        )
    if counts.waiting and not workers.serves(queue.pk):
        return "stuck", "no live worker serves this queue"
    if counts.oldest_at and _age(counts.oldest_at) > LATE:
        return "late", _why_late(queue, counts, workers)
    return ("moving", "") if counts.waiting or counts.running else ("idle", "")


def _why_late(queue: Queue, counts: Counts, workers: Fleet) -> str:
    if queue.max_concurrency and counts.running >= queue.max_concurrency:
        return f"all {queue.max_concurrency} slots of its cap are in use"
    if workers.held >= workers.slots:
        return f"all {workers.slots} slots of the live workers are in use"
    if not counts.running:
        return "no live worker takes its jobs: do they know its types?"
    return "jobs come in faster than they are run"


def is_paused(queue: Queue) -> bool:
    """A pause with an end is over by itself."""
    return queue.paused_at is not None and (queue.paused_until is None or queue.paused_until > now())


def _age(since: datetime) -> timedelta:
    return now() - since
