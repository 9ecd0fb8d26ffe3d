"""How late a delayed job starts when a worker is idle and a million others wait for next year."""

import os
import random
import time
from datetime import datetime, timedelta
from typing import Any

from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import TYPE, payload, records
from apps.bench.services.workers import wait, wait_ready, workers
from apps.jobs import services
from apps.queues.engine.clock import clock
from apps.sql import Statement, run, run_alone

JOBS, ROUND, CONCURRENCY = 1_000_000, 100, 10
SOONEST, LATEST = 0.05, 3.0  # seconds ahead
GAP = 0.03  # seconds from one submit to the next

_others = """
    INSERT INTO jobs_job_live (id, queue_id, type, payload, run_at, rank, max_attempts, max_losses, max_snoozes, state)
    SELECT
        gen_random_uuid(), '{queue}', '{type}', '{{}}', clock_timestamp() + interval '1 year' + n * interval '1 second',
        n, 5, 3, 100, 'scheduled'
    FROM generate_series(1, {jobs}) AS n
"""
# From the time a job was due to its claim, by the database's clock.
_late = Statement(
    """
    SELECT
        percentile_cont(0.5) WITHIN GROUP (ORDER BY late.ms), percentile_cont(0.95) WITHIN GROUP (ORDER BY late.ms), max(late.ms)
    FROM (
        SELECT (extract(EPOCH FROM attempt.started_at - attempt.run_at) * 1000)::float8 AS ms
        FROM jobs_attempt AS attempt
        WHERE attempt.started_at >= %(since)s::timestamptz
    ) AS late
    """,
    lambda *figures: figures,
)


def delayed(*, jobs: int | None, concurrency: int | None, processes: int, rounds: int, **_: object) -> dict[str, Any]:
    """Milliseconds from the moment a job was due to its start; each was submitted after others that are due later."""
    jobs, concurrency, load = jobs or JOBS, concurrency or CONCURRENCY, os.getloadavg()
    taken = Rounds()
    flags = ("--concurrency", str(concurrency), "--processes", str(processes))
    with ground() as here, records() as lines:
        run(_others.format(queue=here.queue.pk, type=TYPE, jobs=jobs))
        run_alone("VACUUM (ANALYZE)", lock_timeout="0")
        with workers(1, *flags) as running:
            wait_ready(running)
            for _round in range(rounds + 1):
                lines.forget()
                [since] = clock()
                _submit(here)
                wait(running, lambda: lines.count() >= ROUND, what="The jobs are not started")
                time.sleep(0.5)  # until the last ones are in the ledger
                if _round:  # the first warms up
                    taken.add(**_figures(since))
        how = {"jobs": ROUND, "scheduled": jobs, "ahead_seconds": [SOONEST, LATEST], "gap_ms": GAP * 1000}
        return told(here, taken, unit="ms late", load=load, concurrency=concurrency, processes=processes, **how)


def _submit(here: Ground) -> None:
    dice = random.Random(1)  # noqa: S311 - the same times each round
    for _ in range(ROUND):
        [now] = clock()
        at = now + timedelta(seconds=dice.uniform(SOONEST, LATEST))
        services.submit(queue=here.queue, type=TYPE, payload=payload(), run_at=at)
        time.sleep(GAP)


def _figures(since: datetime) -> dict[str, float]:
    [(p50, p95, most)] = _late(since=since)
    return {"p50_ms": p50, "p95_ms": p95, "max_ms": most}
