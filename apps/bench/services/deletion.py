"""A queue with millions of old jobs is deleted while another one's are claimed and reported: what do those notice?"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from apps.audit.engine.days import cut_day
from apps.audit.record import SYSTEM
from apps.bench.services.backlog import backlog, session
from apps.bench.services.figures import Rounds, percentile, told
from apps.bench.services.ground import ground, unbroken
from apps.bench.services.records import TYPE
from apps.bench.services.workers import Program, wait
from apps.jobs import services
from apps.jobs.engine.claim import claim
from apps.jobs.engine.partition import ATTEMPT, JOB
from apps.jobs.engine.report import Ended, report
from apps.queues.models import Queue
from apps.sql import Statement, run, run_alone

ROWS, DAYS, BATCH, SECONDS = 5_000_000, 10, 50, 30
STOCK = 1000  # jobs that are queued beside when less than a batch is left
WITHIN = 7200.0
GAP = 0.02  # seconds between two claims, as a worker with something to do has it
# What a statement may take, and wait for a lock: whoever needs longer fails, and nothing is ever deleted.
STRICT = {"PGOPTIONS": "-c statement_timeout=5s -c lock_timeout=1s", "DB_APPLICATION_NAME": "bench-deletion"}

# Old jobs in every final state, a tenth of them dead, a tenth still queued; each that ran has its row of the ledger.
_JOBS = """
    INSERT INTO jobs_job (
        id, queue_id, type, payload, run_at, rank, max_attempts, max_losses, max_snoozes, state, attempt, fence,
        created_at, started_at, finished_at, shelved_on
    )
    SELECT
        ('{prefix}' || lpad(to_hex(n), 24, '0'))::uuid, '{queue}', '{type}', jsonb_build_object('pad', repeat('x', 70)),
        day.at, n, 5, 3, 100, CASE n % 4 WHEN 0 THEN 'cancelled' ELSE '{state}' END, 1, 1, day.at, day.at, day.at,
        CASE '{state}' WHEN 'dead_letter' THEN date '9999-12-31' ELSE (day.at AT TIME ZONE 'UTC')::date END
    FROM generate_series(1, {jobs}) AS n,
        LATERAL (SELECT clock_timestamp() - (1 + n % {days}) * interval '1 day' AS at) AS day
    WHERE '{state}' <> 'dead_letter' OR n % 4 <> 0
"""
_LEDGER = """
    INSERT INTO jobs_attempt (
        id, job_id, queue_id, fence, run_at, started_at, finished_at, generation, attempt, outcome
    )
    SELECT gen_random_uuid(), job.id, job.queue_id, 1, job.run_at, job.run_at, job.finished_at, 1, 1, 'success'
    FROM jobs_job AS job
    WHERE job.queue_id = '{queue}' AND job.finished_at IS NOT NULL
"""

_held = Statement("SELECT EXISTS (SELECT FROM queues_queue WHERE id = %(queue)s)", bool)
_finished = Statement(
    "SELECT EXISTS (SELECT FROM jobs_job WHERE queue_id = %(queue)s AND shelved_on < current_date)", bool
)  # what was cancelled just now goes when its day is over
_rows = Statement(
    "SELECT (SELECT count(*) FROM jobs_job WHERE queue_id = %(queue)s)"
    " + (SELECT count(*) FROM jobs_attempt WHERE queue_id = %(queue)s)",
    int,
)
_longest = Statement(
    "SELECT coalesce(max(extract(EPOCH FROM clock_timestamp() - xact_start)), 0)::float8 FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name LIKE 'bench-deletion%%' AND state <> 'idle'",
    float,
)


class Scheduler(Program):
    """Some of the loops, alone."""

    def __init__(self, only: str) -> None:
        super().__init__("manage.py", "runscheduler", "--only", only, **STRICT)


class Neighbour:
    """Claims and reports of another queue, one after the other, and what the deletion was doing meanwhile."""

    def __init__(self, queue: Queue) -> None:
        self.queue, self.session = queue, session(BATCH)
        self.ms: list[float] = []
        self.longest = 0.0

    def work(self) -> None:
        if len(self.ms) % (STOCK // BATCH) == 0:
            backlog(self.queue, STOCK)
        began = time.perf_counter()
        got = claim(session_id=self.session, queues=[self.queue.pk], offers={TYPE: None}, limit=BATCH).jobs
        report(ended=[Ended(job_id=j.job_id, fence=j.fence, session_id=self.session, outcome="success") for j in got])
        self.ms.append((time.perf_counter() - began) * 1000)
        self.longest = max(self.longest, *_longest())
        time.sleep(GAP)

    def noticed(self) -> list[float]:
        """What the calls since the last time took, in order of length."""
        taken, self.ms = sorted(self.ms), []
        return taken


def deletion(*, jobs: int | None, seconds: int | None, **_: object) -> dict[str, Any]:
    """Milliseconds of a claim and its report before and during the deletion, and what that takes."""
    rows, load, taken = jobs or ROWS, os.getloadavg(), Rounds()
    with ground() as here:
        doomed = Queue.objects.create(project=here.queue.project, name="doomed")
        neighbour = Neighbour(here.queue)
        put = _fill(doomed.pk, here.queue.pk, rows)
        _work_until(neighbour, time.monotonic() + (seconds or SECONDS))
        alone = neighbour.noticed()
        services.delete_queue(queue=doomed, actor=SYSTEM, cancel=True)
        emptied = _take("deletions", neighbour, lambda: not _held(queue=doomed.pk)[0])
        swept = _take("partitions", neighbour, lambda: not _finished(queue=doomed.pk)[0])
        beside = neighbour.noticed()
        [left] = _rows(queue=doomed.pk)
        for name, part in (("p50", 0.5), ("p95", 0.95)):
            before, during = percentile(alone, part), percentile(beside, part)
            taken.add(**{f"alone_{name}_ms": before, f"beside_{name}_ms": during, f"ratio_{name}": during / before})
        taken.add(emptied_seconds=emptied, swept_seconds=swept, longest_batch_ms=neighbour.longest * 1000)
        how = {"rows": put, "rows_left": left, "days": DAYS, "batch": BATCH, **STRICT}
        return told(here, taken, unit="ms of a claim and a report, seconds", load=load, **how)


def _fill(doomed: UUID, other: UUID, rows: int) -> int:
    """So many rows of the doomed queue, a tenth as many of the other among them; answers how many of the doomed."""
    today, jobs = datetime.now(UTC).date(), rows // 2
    for day in range(1, DAYS + 1):
        for table in (JOB, ATTEMPT):
            cut_day(table, today - timedelta(days=day))
    for prefix, queue, state, count in (
        ("01800001", doomed, "completed", jobs - jobs // 5),
        ("01800002", doomed, "dead_letter", jobs // 10),
        ("01800003", other, "completed", max(jobs // 10, DAYS)),
    ):
        run(_JOBS.format(prefix=prefix, queue=queue, state=state, jobs=count, type=TYPE, days=DAYS))
    run(_LEDGER.format(queue=doomed))
    backlog(Queue.objects.get(pk=doomed), jobs // 10)
    run_alone("VACUUM (ANALYZE)", lock_timeout="0")
    run_alone("CHECKPOINT", lock_timeout="0")
    return _rows(queue=doomed)[0]


@contextmanager
def _loops(only: str) -> Iterator[Scheduler]:
    with unbroken():
        running = Scheduler(only)
    try:
        yield running
    finally:
        running.stop()


def _take(loop: str, neighbour: Neighbour, done: Callable[[], bool]) -> float:
    """Seconds until this loop has done its part, while the neighbour works."""
    began = time.monotonic()
    with _loops(loop) as running:

        def worked() -> bool:
            neighbour.work()
            return done()

        wait([running], worked, within=WITHIN, what=f"What the loop {loop} deletes is still there")
    return time.monotonic() - began


def _work_until(neighbour: Neighbour, end: float) -> None:
    while time.monotonic() < end:
        neighbour.work()
