"""What a long line before a queue's rate limit costs while it waits: the database, the worker, and another queue's jobs."""

import os
import statistics
import time
from dataclasses import dataclass, fields, replace
from typing import Any

import psutil

from apps.audit.record import SYSTEM
from apps.bench.services.backlog import backlog
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import PATH, Ground, ground
from apps.bench.services.records import Records, records
from apps.bench.services.workers import Worker, wait, wait_ready, workers
from apps.queues.models import Queue
from apps.queues.services import queues
from apps.sql import Statement

JOBS, CONCURRENCY, SECONDS = 20_000, 10, 30
EVERY = 3600.0  # seconds in which one of them may start
NOOPS, BURSTS = 100, 5
SETTLED = 3.0  # seconds until the worker has looked at what is new, and its sessions have told what they did

_active = Statement("SELECT active_time / 1000 FROM pg_stat_database WHERE datname = current_database()", float)


@dataclass(frozen=True, slots=True)
class Look:
    """Shares of a core while nothing can start, and how long a hundred jobs of the other queue take."""

    database_core_share: float
    worker_core_share: float
    noops_ms: float


def limited(
    *, jobs: int | None, concurrency: int | None, processes: int, rounds: int, seconds: int | None, **_: object
) -> dict[str, Any]:
    """What a worker and its database do without the line, and with it."""
    jobs, concurrency, seconds = jobs or JOBS, concurrency or CONCURRENCY, seconds or SECONDS
    load, taken = os.getloadavg(), Rounds()
    with ground() as here, records() as lines:
        other = replace(here, queue=Queue.objects.create(project=here.queue.project, name="limited"))
        flags = ("--queue", f"{PATH.rpartition('/')[0]}/{other.queue.name}", "--concurrency", str(concurrency))
        with workers(1, "--processes", str(processes), *flags) as running:
            wait_ready(running)
            alone = [_look(here, lines, running, seconds) for _round in range(rounds)]
            _line_up(other, jobs, lines, running)
            beside = [_look(here, lines, running, seconds) for _round in range(rounds)]
        for before, after in zip(alone, beside, strict=True):
            idle = {f"idle_{one.name}": getattr(before, one.name) for one in fields(Look)}
            taken.add(**{one.name: getattr(after, one.name) for one in fields(Look)}, **idle)
            taken.add(neighbours_ratio=after.noops_ms / before.noops_ms)
        how = {"jobs": jobs, "every_seconds": EVERY, "noops": NOOPS, "concurrency": concurrency, "seconds": seconds}
        return told(here, taken, unit="cores, ms", load=load, **how, processes=processes)


def _line_up(other: Ground, jobs: int, lines: Records, running: list[Worker]) -> None:
    """One job takes the only token there is."""
    lines.forget()
    queues.update(queue=other.queue, actor=SYSTEM, rate_per_second=1 / EVERY, burst=1)
    backlog(other.queue, jobs)
    wait(running, lambda: lines.count() == 1, what="The token is not taken")


def _look(here: Ground, lines: Records, running: list[Worker], seconds: float) -> Look:
    time.sleep(SETTLED)
    supervisor = psutil.Process(running[0].process.pid)
    began, active, busy = time.monotonic(), _active()[0], _processor(supervisor)
    time.sleep(seconds)
    took = time.monotonic() - began
    database, worker = (_active()[0] - active) / took, (_processor(supervisor) - busy) / took
    return Look(database, worker, statistics.median(_burst(here, lines, running) for _ in range(BURSTS)))


def _processor(supervisor: psutil.Process) -> float:
    """Seconds of processor time, of its executors too."""
    family = [supervisor, *supervisor.children(recursive=True)]
    return sum(sum(one.cpu_times()[:2]) for one in family)


def _burst(here: Ground, lines: Records, running: list[Worker]) -> float:
    """Milliseconds from the call that enqueues them until the last one starts."""
    lines.forget()
    began = time.time()
    backlog(here.queue, NOOPS)
    wait(running, lambda: lines.count() >= NOOPS, what=f"{NOOPS} jobs are not started")
    return (max(line.started for line in lines.read()) - began) * 1000
