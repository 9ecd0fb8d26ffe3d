"""How many jobs a second pass a queue's gate, one in each transaction, when many claim at once."""

import multiprocessing
import os
import signal
import time
from typing import Any
from uuid import UUID

from django.db import connections

from apps.audit.record import SYSTEM
from apps.bench.services.claimers import HELD, Done, claim_all
from apps.bench.services.drain import backlog
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import ENDINGS, Ground, ground
from apps.bench.services.workers import READY_WITHIN, Stuck
from apps.jobs.engine.open_gates import open_gates
from apps.jobs.engine.wake import hush
from apps.queues.services import queues
from apps.sql import run_alone
from apps.workers.engine.register import register

JOBS = 12_000
PROCESSES = 2  # that claim; each has its share of the claimers
CAP = 10_000  # never full: what is measured is the way through
SHAPES = {"one_row_16": (16, 1), "one_row_64": (64, 1), "eight_rows_64": (64, 8)}  # claimers, shards

_barrier: Any = None  # a pool hands it on in no other way


def gate(*, jobs: int | None, rounds: int, **_: object) -> dict[str, Any]:
    """Admissions per second: claims of one job each, and what they took given back."""
    jobs, load = jobs or JOBS, os.getloadavg()
    taken = Rounds()
    with ground() as here:
        for _round in range(rounds):
            taken.add(**{name: _measure(here, jobs, *shape) for name, shape in SHAPES.items()})
        how = {"jobs": jobs, "cap": CAP, "given_back_at": HELD, "claiming_processes": PROCESSES}
        return told(here, taken, unit="admissions/s", load=load, **how)


def _measure(here: Ground, jobs: int, claimers: int, shards: int) -> float:
    queues.update(queue=here.queue, actor=SYSTEM, max_concurrency=CAP, shards=shards)
    _open()
    backlog(here, jobs)
    run_alone("VACUUM (ANALYZE)", lock_timeout="0")
    run_alone("CHECKPOINT", lock_timeout="0")
    sessions = [
        register(uid=f"bench-{number}", concurrency=HELD, lease_seconds=86_400.0, hostname="bench", pid=0).session_id
        for number in range(claimers)
    ]
    shares = _in_processes(here.queue.pk, sessions)
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


def _in_processes(queue_id: UUID, sessions: list[UUID]) -> list[tuple[float, Done]]:
    hush()
    connections.close_all()
    forked = multiprocessing.get_context("fork")
    barrier = forked.Barrier(PROCESSES)
    with forked.Pool(PROCESSES, _obey, (barrier,)) as pool:
        parts = [(queue_id, sessions[part::PROCESSES]) for part in range(PROCESSES)]
        return pool.starmap(_claim_all, parts, chunksize=1)


def _obey(barrier: Any) -> None:
    """In each process: it is ended by the one that made it, and starts together with the others."""
    global _barrier
    _barrier = barrier
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _claim_all(queue_id: UUID, sessions: list[UUID]) -> tuple[float, Done]:
    return claim_all(queue_id, sessions, _barrier)
