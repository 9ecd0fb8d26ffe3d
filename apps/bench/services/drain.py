"""How fast a backlog of jobs that do nothing is worked off, beside the bare floor."""

import os
import time
from typing import Any

from apps.bench.services import floor
from apps.bench.services.backlog import backlog
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import Records, records
from apps.bench.services.workers import Stuck, wait, workers
from apps.sql import Statement, run_alone

JOBS, CONCURRENCY = 30_000, 200

_unfinished = Statement("SELECT EXISTS (SELECT FROM jobs_job_live)", bool)


def drain(
    *, jobs: int | None, concurrency: int | None, processes: int, workers: int, rounds: int, **_more: object
) -> dict[str, Any]:
    """Jobs per second from the first start until no live job is left."""
    jobs, concurrency, load = jobs or JOBS, concurrency or CONCURRENCY, os.getloadavg()
    taken = Rounds()
    with ground() as here, records() as lines:
        for _ in range(rounds):
            bare = _floor(jobs, lines)
            flags = ("--concurrency", str(concurrency), "--processes", str(processes), "--no-scheduler")
            ours = _drain(here, jobs, lines, count=workers, flags=flags)
            taken.add(jobs_per_second=ours, floor_per_second=bare, ratio_to_floor=ours / bare)
        how = {"jobs": jobs, "concurrency": concurrency, "processes": processes, "workers": workers}
        return told(here, taken, unit="jobs/s", load=load, **how)


def finished() -> bool:
    """Does the queue's own storage say that nothing is left?"""
    return not _unfinished()[0]


def _floor(jobs: int, lines: Records) -> float:
    lines.forget()
    with floor.floor() as connection:
        floor.enqueue_in_bulk(connection, jobs, batch=1000)
        run_alone("VACUUM (ANALYZE) bench_floor", lock_timeout="0")
        return jobs / floor.drain(connection, lines)


def _drain(here: Ground, jobs: int, lines: Records, *, count: int, flags: tuple[str, ...]) -> float:
    lines.forget()
    backlog(here.queue, jobs)
    run_alone("VACUUM (ANALYZE) jobs_job_live", lock_timeout="0")
    with workers(count, *flags) as running:
        wait(running, lambda: lines.count() >= jobs, what=f"{jobs} jobs are not started")
        wait(running, finished, what=f"{jobs} jobs are not finished")
        ended = time.time()
    started = [line.started for line in lines.read()]
    if len(started) != jobs:
        raise Stuck(f"{len(started)} jobs ran where {jobs} were enqueued.")
    return jobs / (ended - min(started))
