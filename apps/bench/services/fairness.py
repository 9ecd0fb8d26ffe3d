"""What a claim costs a worker that serves thousands of queues, and how long one tenant's backlog delays another's job."""

import asyncio
import os
import statistics
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from apps.bench.services.backlog import backlog, session
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import TYPE
from apps.jobs import services
from apps.jobs.engine.claim import Hint, claim_on
from apps.jobs.engine.report import Ended, report_on
from apps.queues.models import Queue
from apps.runtime.supervisor.turns import Turns
from apps.sql import Line, open_async, run_alone

QUEUES, BUSY = 5_000, 10
BATCH, WARM_UP, CLAIMS = 50, 10, 40
JOBS = 100_000  # of the tenant that has a backlog
OFFERS: dict[str, int | None] = {TYPE: None}


def fairness(*, jobs: int | None, rounds: int, **_: object) -> dict[str, Any]:
    """Milliseconds per claim: one queue alone, and some with work among thousands; claims until a single job's turn."""
    jobs, load = jobs or JOBS, os.getloadavg()
    taken = Rounds()
    with ground() as here:
        queues = _more_queues(here)
        step = len(queues) // BUSY
        for _round in range(rounds):
            one = _measure(here, [here.queue], [here.queue])
            many = _measure(here, queues, queues[::step][:BUSY])
            taken.add(one_queue_ms=one, many_queues_ms=many, ratio=many / one)
        delayed = _delay(here, queues[0], queues[1], jobs)
        how = {"queues": len(queues), "with_work": BUSY, "batch": BATCH, "claims": CLAIMS, "backlog": jobs}
        return {**told(here, taken, unit="ms per claim", load=load, **how), "single_job_in_claim": delayed}


def _more_queues(here: Ground) -> list[Queue]:
    rows = [Queue(project=here.queue.project, name=f"bench-{number}") for number in range(QUEUES)]
    return sorted(Queue.objects.bulk_create(rows), key=lambda queue: queue.pk)


def _measure(here: Ground, served: Sequence[Queue], busy: Sequence[Queue]) -> float:
    """The median time of a claim, asking which queues have work included; as many jobs wait in either case."""
    wanted = (WARM_UP + CLAIMS) * BATCH
    for queue in busy:
        backlog(queue, wanted // len(busy))
    run_alone("VACUUM (ANALYZE)", lock_timeout="0")
    run_alone("CHECKPOINT", lock_timeout="0")
    took = asyncio.run(_claims(session(BATCH), [queue.pk for queue in served], WARM_UP + CLAIMS, BATCH))
    return statistics.median(took[WARM_UP:])


def _delay(here: Ground, mine: Queue, other: Queue, jobs: int) -> int:
    """Which claim, of one job each, brings the single job of one tenant that came after another's backlog; 1: the first."""
    backlog(other, jobs)
    single = services.submit(queue=mine, type=TYPE)
    seen: list[UUID] = []
    asyncio.run(_claims(session(BATCH), [mine.pk, other.pk], 4, 1, seen))
    return seen.index(single.pk) + 1


async def _claims(
    session_id: UUID, served: list[UUID], claims: int, limit: int, seen: list[UUID] | None = None
) -> list[float]:
    """Claim as a worker does that serves these queues; what it got is reported before the next, outside the time."""
    line = await open_async()
    try:
        turns = Turns(lambda call: call(line))
        turns.serve(served)
        return [await _claim(line, turns, session_id, limit, seen) for _ in range(claims)]
    finally:
        await line.close()


async def _claim(line: Line, turns: Turns, session_id: UUID, limit: int, seen: list[UUID] | None) -> float:
    began = time.perf_counter()
    got = await claim_on(
        line, session_id=session_id, queues=await turns.next(limit), offers=OFFERS, limit=limit,
        hint=Hint(ahead=turns.ahead()),
    )  # fmt: skip
    turns.see([job.queue_id for job in got.jobs], {})
    took = (time.perf_counter() - began) * 1000
    if len(got.jobs) != limit:
        raise RuntimeError(f"A claim of {limit} got {len(got.jobs)}.")
    ended = [Ended(job_id=job.job_id, fence=job.fence, session_id=session_id, outcome="success") for job in got.jobs]
    await report_on(line, ended=ended)
    if seen is not None:
        seen += [job.job_id for job in got.jobs]
    return took
