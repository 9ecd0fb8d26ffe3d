"""Does a claim take longer when the tables are full? A claim of 50 jobs, before and after."""

import os
import statistics
import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.bench.services.backlog import backlog, session
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import TYPE
from apps.jobs.engine.claim import claim
from apps.jobs.engine.report import Ended, report
from apps.sql import run, run_alone

BATCH, WARM_UP, CLAIMS = 50, 10, 40
JOBS = 1_000_000  # scheduled; the other kinds keep their proportion
OFFERS: dict[str, int | None] = {TYPE: None, **{f"bench.other.{number}": None for number in range(19)}}

# What is loaded, by SQL, for a million of them through the front door would take an hour.
_LIVE = """
    INSERT INTO jobs_job_live (
        id, queue_id, type, payload, run_at, rank, max_attempts, max_losses, max_snoozes, state
    )
    SELECT
        ('{prefix}' || lpad(to_hex(n), 24, '0'))::uuid, '{queue}', '{type}', jsonb_build_object('pad', repeat('x', 70)),
        clock_timestamp() + interval '{hours} hours',
        (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint + {hours} * 3600000000 + n, 5, 3, 100, '{state}'
    FROM generate_series(1, {jobs}) AS n
"""
_FINISHED = """
    INSERT INTO jobs_job (
        id, queue_id, type, payload, run_at, rank, max_attempts, max_losses, max_snoozes, state, attempt, fence,
        started_at, finished_at, shelved_on
    )
    SELECT
        ('{prefix}' || lpad(to_hex(n), 24, '0'))::uuid, '{queue}', '{type}', jsonb_build_object('pad', repeat('x', 70)),
        clock_timestamp(), n, 5, 3, 100, 'completed', 1, 1, clock_timestamp(), clock_timestamp(),
        (clock_timestamp() AT TIME ZONE 'UTC')::date
    FROM generate_series(1, {jobs}) AS n
"""


@dataclass(frozen=True, slots=True)
class Load:
    """How many rows of each kind are added."""

    scheduled: int
    unhandled_ahead: int
    queued: int
    finished: int

    @classmethod
    def of(cls, jobs: int, rounds: int) -> "Load":
        enough = (WARM_UP + CLAIMS) * BATCH * rounds
        return cls(jobs, jobs // 10, max(jobs // 2, enough), jobs * 2)

    def put(self, queue_id: UUID) -> None:
        kinds = (
            (_LIVE, "01900001", self.scheduled, {"type": TYPE, "hours": 24, "state": "scheduled"}),
            (_LIVE, "01900002", self.unhandled_ahead, {"type": "bench.unhandled", "hours": -24, "state": "queued"}),
            (_LIVE, "01900003", self.queued, {"type": TYPE, "hours": 0, "state": "queued"}),
            (_FINISHED, "01900004", self.finished, {"type": TYPE}),
        )
        for text, prefix, jobs, more in kinds:
            run(text.format(prefix=prefix, queue=queue_id, jobs=jobs, **more))


def claim_scale(*, jobs: int | None, rounds: int, **_: object) -> dict[str, Any]:
    """Milliseconds per claim on nearly empty tables, and on full ones."""
    load, average = Load.of(jobs or JOBS, rounds), os.getloadavg()
    with ground() as here:
        claimer = session(BATCH)
        empty = []
        for _round in range(rounds):
            backlog(here.queue, (WARM_UP + CLAIMS) * BATCH)
            _tidy()
            empty.append(_claims(here, claimer))
        load.put(here.queue.pk)
        _tidy()
        loaded = [_claims(here, claimer) for _round in range(rounds)]
        taken = Rounds()
        for before, after in zip(empty, loaded, strict=True):
            taken.add(empty_ms=before, loaded_ms=after, ratio=after / before)
        how = {"batch": BATCH, "claims": CLAIMS, "types": len(OFFERS)}
        added = {name: getattr(load, name) for name in Load.__slots__}
        return told(here, taken, unit="ms per claim", load=average, added=added, **how)


def _tidy() -> None:
    """As the tables look after a quiet hour, and with no checkpoint on its way."""
    run_alone("VACUUM (ANALYZE)", lock_timeout="0")
    run_alone("CHECKPOINT", lock_timeout="0")


def _claims(here: Ground, session_id: UUID) -> float:
    """The median time of a claim; what it got is reported before the next one, outside the time."""
    taken = []
    for _ in range(WARM_UP + CLAIMS):
        began = time.perf_counter()
        got = claim(session_id=session_id, queues=[here.queue.pk], offers=OFFERS, limit=BATCH)
        taken.append((time.perf_counter() - began) * 1000)
        if len(got.jobs) != BATCH:
            raise RuntimeError(f"A claim of {BATCH} got {len(got.jobs)}.")
        report(
            ended=[
                Ended(job_id=job.job_id, fence=job.fence, session_id=session_id, outcome="success") for job in got.jobs
            ]
        )
    return statistics.median(taken[WARM_UP:])
