"""How fast jobs are taken in from Python, beside the bare floor."""

import os
import time
from collections.abc import Callable
from typing import Any

from apps.bench.services import floor
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import TYPE, payload
from apps.jobs import services
from apps.sql import run_alone

JOBS, BULK, WARM_UP = 5_000, 500, 50


def enqueue(*, jobs: int | None, rounds: int, **_: object) -> dict[str, Any]:
    """Jobs per second: one call and commit each, and five hundred a call."""
    jobs, load = jobs or JOBS, os.getloadavg()
    taken = Rounds()
    with ground() as here, floor.floor() as connection:
        for _round in range(rounds):
            taken.add(**_round_of(here, connection, jobs))
            run_alone("VACUUM (ANALYZE) jobs_job_live", lock_timeout="0")
        return told(here, taken, unit="jobs/s", load=load, jobs=jobs, bulk=BULK)


def one_by_one(here: Ground, jobs: int) -> None:
    for _ in range(jobs):
        services.submit(queue=here.queue, type=TYPE, payload=payload())


def in_bulk(here: Ground, jobs: int) -> None:
    for start in range(0, jobs, BULK):
        batch = [{"type": TYPE, "payload": payload()} for _ in range(min(BULK, jobs - start))]
        services.submit_batch(queue=here.queue, jobs=batch)


def _round_of(here: Ground, connection: Any, jobs: int) -> dict[str, float]:
    floor_one = _rate(lambda size: floor.enqueue_one_by_one(connection, size), jobs)
    ours_one = _rate(lambda size: one_by_one(here, size), jobs)
    floor_bulk = _rate(lambda size: floor.enqueue_in_bulk(connection, size, batch=BULK), jobs * 4)
    ours_bulk = _rate(lambda size: in_bulk(here, size), jobs * 4)
    return {
        "one_by_one_per_second": ours_one,
        "bulk_per_second": ours_bulk,
        "floor_one_by_one_per_second": floor_one,
        "floor_bulk_per_second": floor_bulk,
        "ratio_to_floor": ours_one / floor_one,
        "bulk_ratio_to_floor": ours_bulk / floor_bulk,
    }


def _rate(call: Callable[[int], None], jobs: int) -> float:
    call(WARM_UP)
    began = time.perf_counter()
    call(jobs)
    return jobs / (time.perf_counter() - began)
