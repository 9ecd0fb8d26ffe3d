"""A queue or a project with millions of rows is deleted while another one's jobs are claimed and reported: what do those notice?"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from apps.bench.services.backlog import backlog, session
from apps.bench.services.doomed import DAYS, KINDS
from apps.bench.services.figures import Rounds, percentile, told
from apps.bench.services.ground import ground, unbroken
from apps.bench.services.records import TYPE
from apps.bench.services.workers import Program, wait
from apps.jobs.engine.claim import claim
from apps.jobs.engine.report import Ended, report
from apps.queues.models import Queue
from apps.sql import Statement, run_alone

ROWS, BATCH, SECONDS = 5_000_000, 50, 30
STOCK = 1000  # jobs that are queued beside when less than a batch is left
WITHIN = 7200.0
GAP = 0.02  # seconds between two claims, as a worker with something to do has it
# What a statement may take, and wait for a lock: whoever needs longer fails, and nothing is ever deleted.
STRICT = {"PGOPTIONS": "-c statement_timeout=5s -c lock_timeout=1s", "DB_APPLICATION_NAME": "bench-deletion"}

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


def deletion(*, jobs: int | None, seconds: int | None, of: str = "queue", **_: object) -> dict[str, Any]:
    """Milliseconds of a claim and its report before and during the deletion, and what that takes."""
    rows, load, taken = jobs or ROWS, os.getloadavg(), Rounds()
    with ground() as here:
        doomed = KINDS[of](here.queue, rows)
        run_alone("VACUUM (ANALYZE)", lock_timeout="0")
        run_alone("CHECKPOINT", lock_timeout="0")
        put, neighbour = doomed.rows(), Neighbour(here.queue)
        _work_until(neighbour, time.monotonic() + (seconds or SECONDS))
        alone = neighbour.noticed()
        doomed.delete()
        emptied = _take("deletions", neighbour, lambda: not doomed.is_there())
        swept = _take("partitions", neighbour, lambda: not doomed.has_finished())
        beside = neighbour.noticed()
        for name, part in (("p50", 0.5), ("p95", 0.95)):
            before, during = percentile(alone, part), percentile(beside, part)
            taken.add(**{f"alone_{name}_ms": before, f"beside_{name}_ms": during, f"ratio_{name}": during / before})
        taken.add(emptied_seconds=emptied, swept_seconds=swept, longest_batch_ms=neighbour.longest * 1000)
        how = {"of": of, "rows": put, "rows_left": doomed.rows(), "days": DAYS, "batch": BATCH, **STRICT}
        return told(here, taken, unit="ms of a claim and a report, seconds", load=load, **how)


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
