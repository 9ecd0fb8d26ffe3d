"""What a claim costs behind a hundred thousand jobs of a key that is full, and what letting the next of them through does."""

import asyncio
import os
import statistics
import time
from typing import Any
from uuid import UUID

from apps.bench.services.backlog import backlog, session
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import TYPE
from apps.jobs.engine.admit import admit
from apps.jobs.engine.claim import Claimed, claim_on
from apps.jobs.engine.report import Ended, report_on
from apps.queues.models import Queue
from apps.sql import Line, open_async, run_alone

BATCH, WARM_UP, CLAIMS = 50, 10, 40
TURNS = 50  # ends of a job of the full key
JOBS = 100_000  # of that key, ahead of all others
HOT = "hot"


def keys(*, jobs: int | None, rounds: int, **_: object) -> dict[str, Any]:
    """Milliseconds per claim without keys and behind a full one; and per job of it that is let through."""
    jobs, load = jobs or JOBS, os.getloadavg()
    taken = Rounds()
    with ground() as here:
        for _round in range(rounds):
            taken.add(**_round_of(here, jobs))
        return told(here, taken, unit="ms", load=load, batch=BATCH, claims=CLAIMS, turns=TURNS, backlog=jobs)


def _round_of(here: Ground, jobs: int) -> dict[str, float]:
    claimer = session(BATCH + 1)
    plain = statistics.median(_claims(here.queue, claimer))
    hot = Queue.objects.create(project=here.queue.project, name=f"hot-{claimer}", max_per_key=1)
    backlog(hot, jobs, concurrency_key=HOT)
    behind = statistics.median(_claims(hot, claimer))
    admitted = statistics.median(asyncio.run(_turns(hot, claimer)))
    return {"plain_ms": plain, "hot_ms": behind, "ratio": behind / plain, "admit_ms": admitted}


def _claims(queue: Queue, claimer: UUID) -> list[float]:
    """Claims of BATCH jobs that have no key, whatever waits before them."""
    backlog(queue, (WARM_UP + CLAIMS) * BATCH)
    run_alone("VACUUM (ANALYZE)", lock_timeout="0")
    run_alone("CHECKPOINT", lock_timeout="0")
    return asyncio.run(_timed(queue, claimer))[WARM_UP:]


async def _timed(queue: Queue, claimer: UUID) -> list[float]:
    line = await open_async()
    held: Claimed | None = None  # the one job of the key that may run does, meanwhile
    try:
        if queue.max_per_key:
            held = await _claim(line, queue, claimer, 1)
        took = []
        for _ in range(WARM_UP + CLAIMS):
            began = time.perf_counter()
            got = await _claim(line, queue, claimer, BATCH)
            took.append((time.perf_counter() - began) * 1000)
            await _end(line, claimer, got)
        if held:
            await _end(line, claimer, held)
        return took
    finally:
        await line.close()


async def _turns(queue: Queue, claimer: UUID) -> list[float]:
    """A job of the key is let through, runs and ends, again and again; timed is what lets it through."""
    line = await open_async()
    try:
        took = []
        for _ in range(TURNS):
            began = time.perf_counter()
            await admit.on(line, keys=[(queue.pk, HOT)])
            took.append((time.perf_counter() - began) * 1000)
            await _end(line, claimer, await _claim(line, queue, claimer, 1))
        return took
    finally:
        await line.close()


async def _claim(line: Line, queue: Queue, claimer: UUID, jobs: int) -> Claimed:
    got = await claim_on(line, session_id=claimer, queues=[queue.pk], offers={TYPE: None}, limit=jobs)
    if len(got.jobs) != jobs:
        raise RuntimeError(f"A claim of {jobs} got {len(got.jobs)}.")
    return got


async def _end(line: Line, claimer: UUID, got: Claimed) -> None:
    ended = [Ended(job_id=job.job_id, fence=job.fence, session_id=claimer, outcome="success") for job in got.jobs]
    await report_on(line, ended=ended)
