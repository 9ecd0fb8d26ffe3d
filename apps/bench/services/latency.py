"""How long an idle worker takes to start a job that has just been enqueued."""

import os
import time
from typing import Any

from apps.bench.services.figures import Rounds, percentile, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import TYPE, Records, payload, records
from apps.bench.services.workers import Worker, wait, wait_ready, workers
from apps.jobs import services

JOBS, CONCURRENCY, WARM_UP = 200, 10, 20
GAP = 0.015  # seconds from one enqueue to the next
REST = 1.5  # seconds in which the worker becomes idle again


def latency(*, jobs: int | None, concurrency: int | None, processes: int, rounds: int, **_: object) -> dict[str, Any]:
    """Milliseconds from just before the enqueue call to the handler's first line."""
    jobs, concurrency, load = jobs or JOBS, concurrency or CONCURRENCY, os.getloadavg()
    taken = Rounds()
    flags = ("--concurrency", str(concurrency), "--processes", str(processes))
    with ground() as here, records() as lines, workers(1, *flags) as running:
        wait_ready(running)
        for _round in range(rounds):
            _enqueue(here, WARM_UP, running, lines)
            time.sleep(REST)
            _enqueue(here, jobs, running, lines)
            ms = sorted((line.started - line.given) * 1000 for line in lines.read())
            taken.add(p50_ms=percentile(ms, 0.5), p95_ms=percentile(ms, 0.95), p99_ms=percentile(ms, 0.99))
        how = {"jobs": jobs, "gap_ms": GAP * 1000, "concurrency": concurrency, "processes": processes}
        return told(here, taken, unit="ms", load=load, **how)


def _enqueue(here: Ground, jobs: int, running: list[Worker], lines: Records) -> None:
    """One job after another at a steady pace; the payload tells when each was given."""
    lines.forget()
    began = time.perf_counter()
    for number in range(jobs):
        time.sleep(max(0.0, began + number * GAP - time.perf_counter()))
        services.submit(queue=here.queue, type=TYPE, payload=payload())
    wait(running, lambda: lines.count() >= jobs, what="The jobs are not started")
