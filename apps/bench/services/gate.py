"""How many jobs a second pass a queue's gate, one in each transaction, when many claim at once."""

import os
import time
from collections import Counter
from typing import Any

from apps.audit.record import SYSTEM
from apps.bench.services.backlog import backlog, session
from apps.bench.services.claimers import HELD, WARM, claim_all
from apps.bench.services.figures import Rounds, told
from apps.bench.services.forks import forks
from apps.bench.services.ground import Ground, ground
from apps.bench.services.workers import READY_WITHIN, Stuck
from apps.jobs.engine.open_gates import open_gates
from apps.queues.services import queues
from apps.sql import run_alone

JOBS = 12_000
PROCESSES = 2  # that claim; each has its share of the claimers
CAP = 10_000  # never full: what is measured is the way through
SHAPES = {"one_row_16": (16, 1), "one_row_64": (64, 1), "eight_rows_64": (64, 8)}  # claimers, shards


def gate(*, jobs: int | None, rounds: int, **_: object) -> dict[str, Any]:
    """Admissions per second: claims of one job each, and what they took given back."""
    jobs, load = jobs or JOBS, os.getloadavg()
    taken, met = Rounds(), Counter[str]()
    with ground() as here:
        for _round in range(rounds):
            taken.add(**{name: _measure(here, jobs, *shape, met) for name, shape in SHAPES.items()})
        how = {
            "jobs": jobs,
            "cap": CAP,
            "given_back_at": HELD,
            "warmed_up_with": WARM,
            "claiming_processes": PROCESSES,
            **met,
        }
        return told(here, taken, unit="admissions/s", load=load, **how)


def _measure(here: Ground, jobs: int, claimers: int, shards: int, met: Counter[str]) -> float:
    queues.update(queue=here.queue, actor=SYSTEM, max_concurrency=CAP, shards=shards)
    _open()
    backlog(here.queue, jobs + claimers * WARM)
    run_alone("VACUUM (ANALYZE)", lock_timeout="0")
    run_alone("CHECKPOINT", lock_timeout="0")
    sessions = [session(HELD, uid=f"bench-{number}") for number in range(claimers)]
    with forks(PROCESSES) as pool:
        parts = [(here.queue.pk, sessions[part::PROCESSES]) for part in range(PROCESSES)]
        shares = pool.starmap(claim_all, parts, chunksize=1)
    met.update(vain=sum(done.vain for _, done in shares))
    admitted = sum(done.admitted for _, done in shares)
    if admitted != jobs:
        raise Stuck(f"{admitted} jobs were admitted where {jobs} waited.")
    return jobs / (max(done.last for _, done in shares) - min(began for began, _ in shares))


def _open() -> None:
    """As the scheduler's loop would: a new gate waits for whoever may not have seen it."""
    until = time.monotonic() + READY_WITHIN
    while (tried := open_gates()) is not None and not tried[1]:
        if time.monotonic() > until:
            raise Stuck("The gate does not open.")
