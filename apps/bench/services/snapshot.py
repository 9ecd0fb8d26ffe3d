"""What a snapshot that somebody holds open costs: rows that have ended pile up, and nothing may remove them."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils.timezone import now
from psycopg import IsolationLevel

from apps.bench.services.backlog import backlog
from apps.bench.services.figures import Rounds, percentile, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import TYPE, Records, payload, records
from apps.bench.services.workers import Worker, wait, wait_ready, workers
from apps.jobs import services
from apps.jobs.engine.wake import wake_queue
from apps.queues.models import Queue
from apps.sql import Statement, open_own, run_alone

JOBS, CONCURRENCY = 10_000, 50  # a backlog's; the worker's
RATE, SECONDS = 500, 900  # jobs a second while the snapshot is held, and for how long
LAST = 60  # seconds at the end of which the waits count

_look = Statement("SELECT EXISTS (SELECT FROM jobs_job)", bool)


def snapshot(
    *, jobs: int | None, concurrency: int | None, processes: int, rounds: int, seconds: int | None, **_: object
) -> dict[str, Any]:
    """How fast a backlog is started without the snapshot, and at the end of its time; how long single jobs wait."""
    jobs, concurrency, seconds = jobs or JOBS, concurrency or CONCURRENCY, seconds or SECONDS
    load, taken = os.getloadavg(), Rounds()
    flags = ("--concurrency", str(concurrency), "--processes", str(processes))
    with ground() as here, records() as lines, workers(1, *flags) as running:
        wait_ready(running)
        _burst(here, lines, running, jobs)
        free = [_burst(here, lines, running, jobs) for _round in range(rounds)]
        with _held():
            waits = _steady(here, lines, running, RATE * seconds)
            held = [_burst(here, lines, running, jobs) for _round in range(rounds)]
        for before, after in zip(free, held, strict=True):
            taken.add(free_per_second=before, held_per_second=after, ratio=after / before)
        taken.add(p50_ms=percentile(waits, 0.5), p95_ms=percentile(waits, 0.95), p99_ms=percentile(waits, 0.99))
        how = {"jobs": jobs, "concurrency": concurrency, "processes": processes, "seconds": seconds, "rate": RATE}
        return told(here, taken, unit="jobs/s and ms", load=load, **how)


@contextmanager
def _held() -> Iterator[None]:
    """A reader that began before, and is not done."""
    with open_own() as reader:
        reader.autocommit, reader.isolation_level = False, IsolationLevel.REPEATABLE_READ
        _look.through(reader)
        yield
        reader.rollback()


def _burst(here: Ground, lines: Records, running: list[Worker], jobs: int) -> float:
    """Jobs a second, from the first start to the last, of a backlog that was waiting in a paused queue."""
    _let(here, run=False)
    lines.forget()
    backlog(here.queue, jobs)
    run_alone("VACUUM (ANALYZE) jobs_job_live", lock_timeout="0")
    _let(here, run=True)
    wait(running, lambda: lines.count() >= jobs, what=f"{jobs} jobs are not started")
    started = [line.started for line in lines.read()]
    return jobs / (max(started) - min(started))


def _let(here: Ground, *, run: bool) -> None:
    Queue.objects.filter(pk=here.queue.pk).update(paused_at=None if run else now())
    if run:
        wake_queue(here.queue.pk)


def _steady(here: Ground, lines: Records, running: list[Worker], jobs: int) -> list[float]:
    """Enqueue one by one at the rate; answers how many milliseconds each of the last ones waited, in order."""
    lines.forget()
    began = time.perf_counter()
    for number in range(jobs):
        time.sleep(max(0.0, began + number / RATE - time.perf_counter()))
        services.submit(queue=here.queue, type=TYPE, payload=payload())
    wait(running, lambda: lines.count() >= jobs, what=f"{jobs} jobs are not started")
    last = lines.read()[-RATE * LAST :]
    return sorted((line.started - line.given) * 1000 for line in last)
