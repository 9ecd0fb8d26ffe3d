"""What a worker holds after many jobs, beside what it held after a tenth of them."""

import os
from dataclasses import asdict, dataclass
from typing import Any

import psutil
from django.conf import settings

from apps.bench.services.backlog import backlog
from apps.bench.services.drain import finished
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import Records, records
from apps.bench.services.workers import Worker, wait, wait_ready, workers
from apps.sql import Statement

JOBS, EARLY = 200_000, 10  # the first look comes after a part of the jobs
CONCURRENCY, EXECUTORS = 100, 2
PART = 20_000  # enqueued at a time
MB = 1e6

_connections = Statement(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = %(name)s AND pid <> pg_backend_pid()"
    " AND starts_with(application_name, %(application)s)",
    int,
)


@dataclass(frozen=True, slots=True)
class Held:
    supervisor_mb: float
    executors_mb: float
    threads: int
    files: int
    connections: int


def soak(*, jobs: int | None, concurrency: int | None, processes: int, **_: object) -> dict[str, Any]:
    """One worker works off so many jobs; the ratios are late to early."""
    jobs, concurrency, load = jobs or JOBS, concurrency or CONCURRENCY, os.getloadavg()
    executors, taken = processes or EXECUTORS, Rounds()
    flags = ("--concurrency", str(concurrency), "--processes", str(executors), "--jobs-per-process", "0")
    with ground() as here, records() as lines, workers(1, *flags) as running:
        wait_ready(running)
        early = _after(here, jobs // EARLY, lines, running)
        late = _after(here, jobs, lines, running)
        taken.add(
            supervisor_ratio=late.supervisor_mb / early.supervisor_mb,
            executors_ratio=late.executors_mb / max(early.executors_mb, 1e-9),
            **{name: float(value) for name, value in asdict(late).items()},
        )
        how = {"jobs": jobs, "concurrency": concurrency, "processes": executors, "early": asdict(early)}
        return told(here, taken, unit="MB, count", load=load, **how)


def _after(here: Ground, jobs: int, lines: Records, running: list[Worker]) -> Held:
    """What the worker holds once so many jobs have ended."""
    while (done := lines.count()) < jobs:
        backlog(here.queue, min(PART, jobs - done))
        goal = min(done + PART, jobs)
        wait(running, lambda: lines.count() >= goal and finished(), what=f"{goal} jobs are not finished")  # noqa: B023
    return _held(here, running[0].process.pid)


def _held(here: Ground, pid: int) -> Held:
    supervisor = psutil.Process(pid)
    executors = supervisor.children(recursive=True)  # the fork server too
    everybody = [supervisor, *executors]
    return Held(
        supervisor_mb=supervisor.memory_info().rss / MB,
        executors_mb=sum(one.memory_info().rss for one in executors) / MB,
        threads=sum(one.num_threads() for one in everybody),
        files=sum(one.num_fds() for one in everybody),
        connections=_connections(name=here.name, application=settings.DB_APPLICATION_NAME)[0],
    )
