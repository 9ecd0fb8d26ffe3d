"""What /metrics says, as Prometheus reads it. Labels are names of queues alone: no ids, nothing that jobs bring along."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import psycopg
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from apps.jobs.engine.metrics import OfAll, OfQueue, metrics
from apps.sql import bounded, open_async

PATIENCE = 5.0  # seconds the database has
LASTS = 5.0  # seconds an answer is good for
OF_A_QUEUE = ("organization", "project", "queue")


class Gauge:
    """What was measured last; scrapers that come together share it."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.lock = threading.Lock()
        self.text = b""
        self.error: Exception | None = None
        self.read_at: float | None = None

    def __call__(self) -> bytes:
        """From any thread that runs no event loop. Raises what psycopg does, and again for as long as an answer is good."""
        with self.lock:
            if self.read_at is None or self.now() - self.read_at >= LASTS:
                self._read()
            if self.error:
                raise self.error
            return self.text

    def _read(self) -> None:
        try:
            self.text, self.error = asyncio.run(measured()), None
        except (psycopg.Error, OSError) as error:
            self.error = error
        self.read_at = self.now()


gauge = Gauge()


async def measured() -> bytes:
    """Measure on a connection of its own, with an end to the patience."""
    line = await open_async("metrics")
    try:
        async with bounded(line, PATIENCE):
            return as_text(*await metrics.on(line))
    finally:
        await line.close()


def as_text(whole: OfAll, queues: Sequence[OfQueue]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Told([*_of_all(whole, len(queues)), *_of_queues(queues)]))
    return generate_latest(registry)


class _Told(Collector):
    def __init__(self, families: Sequence[GaugeMetricFamily]) -> None:
        self.families = families

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self.families


def _of_all(whole: OfAll, told: int) -> Iterator[GaugeMetricFamily]:
    """What the database does not know stands nowhere: 0 would be a lie."""
    for name, about, value in (
        ("queues", "Queues there are.", whole.queues),
        ("queues_left_out", "Queues that are not measured here, for there are too many.", max(whole.queues - told, 0)),
        ("workers", "Live worker sessions that take jobs.", whole.workers),
        ("workers_draining", "Live worker sessions that take none.", whole.draining),
        ("worker_slots", "Jobs that live workers can run at once.", whole.slots),
        ("outbox_oldest_age_seconds", "Age of the oldest event that has no number yet.", whole.outbox_seconds or 0.0),
        ("rollup_age_seconds", "Time since a scheduler last summed up the ledger.", whole.rollup_seconds),
    ):
        if value is not None:
            yield GaugeMetricFamily(f"fencepost_{name}", about, value=value)


def _of_queues(queues: Sequence[OfQueue]) -> Iterator[GaugeMetricFamily]:
    jobs = _family("queue_jobs", "Jobs in a queue; dead letters up to 1000.", "state")
    ended = _family("queue_recently_ended", "Attempts that ended in the last five minutes.", "outcome")
    oldest = _family("queue_oldest_ready_age_seconds", "How long the first of those that could start has waited.")
    cap = _family("queue_concurrency_limit", "Jobs that may run at once; only of queues with a cap.")
    paused = _family("queue_paused", "1 while the queue is paused.")
    breaker = _family("queue_breaker_open", "1 while the breaker is open or lets one job at a time try.")
    for queue in queues:
        at = (queue.organization, queue.project, queue.name)
        for state, count in (("queued", queue.queued), ("running", queue.running), ("dead_letter", queue.dead)):
            jobs.add_metric((*at, state), count)
        for outcome in ("completed", "failed", "dead_lettered", "lost"):
            ended.add_metric((*at, outcome), getattr(queue, outcome))
        oldest.add_metric(at, max(queue.oldest_seconds or 0.0, 0.0))
        if queue.cap is not None:
            cap.add_metric(at, queue.cap)
        paused.add_metric(at, queue.is_paused)
        breaker.add_metric(at, queue.breaker != "closed")
    yield from (jobs, ended, oldest, cap, paused, breaker)


def _family(name: str, about: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"fencepost_{name}", about, labels=(*OF_A_QUEUE, *labels))
