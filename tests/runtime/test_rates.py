"""Case H31: a rate over time and many workers. What starts is judged by rows that handlers wrote over their own lines.

The bound is the documented one: in any time t at most burst + rate × t jobs start (docs/decisions/0018).
"""

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import find
from apps.jobs.states import FINAL, JobState
from apps.queues.models import Gate, RetryPolicy
from apps.queues.services import queues
from tests.databases import Database
from tests.factories import QueueFactory
from tests.processes import Process, effects, final, until, worker

pytestmark = pytest.mark.chaos

SHORT = os.environ.get("SHORT") == "1"
WORKERS, RATE, BURST, SECONDS = (3, 10.0, 5, 10) if SHORT else (8, 10 / 60, 10, 600)
LATE = 1.0  # seconds by which a start may be written down later than it was admitted
QUEUED = 1_000 if SHORT else 20_000
FLAGS = ("--poll-interval", "0.5", "--lease", "15", "--processes", "0", "--concurrency", "4")
FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"


@contextmanager
def workers(database: Database, folder: Path, count: int, *flags: str) -> Iterator[list[Process]]:
    """So many, of which the last one's clock is five minutes ahead."""
    library = next(iter(Path("/").glob(FAKETIME[1:])), None)
    off = {"LD_PRELOAD": str(library), "FAKETIME": "+300s"} if library else {}
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                worker(database, folder, *FLAGS, *flags, name=f"w{number}", **(off if number == count - 1 else {}))
            )
            for number in range(count)
        ]


def submit(queue: Any, jobs: int, type: str = "effect.patient", **payload: Any) -> list[Any]:
    made: list[Any] = []
    for start in range(0, jobs, 1000):
        batch = [{"type": type, "payload": payload}] * min(1000, jobs - start)
        made += [one.job_id for one in services.submit_batch(queue=queue, jobs=batch).jobs]
    return made


def starts() -> list[float]:
    """When handlers began, in seconds of the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(EPOCH FROM started_at)::float8 FROM effects ORDER BY started_at")
        return [start for (start,) in cursor.fetchall()]


def clock() -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(EPOCH FROM clock_timestamp())::float8")
        return float(cursor.fetchone()[0])


def pass_time(seconds: float) -> float:
    """Let workers work for so long; answers the database's time."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end, within=seconds + 20)
    return clock()


def most_within(times: Sequence[float], seconds: float) -> int:
    """The most starts in any stretch of so many seconds."""
    return max(sum(first <= start < first + seconds for start in times[place:]) for place, first in enumerate(times))


def test_in_every_stretch_of_time_no_more_start_than_the_burst_and_the_rate(
    own_database, tmp_path, queue, record_property
):
    queues.update(queue=queue, actor=SYSTEM, rate_per_second=RATE, burst=BURST)
    with workers(own_database, tmp_path, WORKERS):
        submit(queue, QUEUED)
        began = clock()
        seen = starts() if pass_time(SECONDS) else []
    for stretch in (1, 6, 10, 60, SECONDS):
        assert most_within(seen, stretch) <= math.floor(BURST + RATE * (stretch + LATE)), stretch
    assert len(seen) >= BURST + 0.95 * RATE * (seen[-1] - began) - 1
    assert len({pid for _, pid, _ in effects()}) > 1
    assert set(Attempt.objects.values_list("attempt", "outcome")) <= {(1, "success"), (1, "released")}
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT attempt, snoozes, losses FROM jobs_job_live WHERE state = 'queued'")
        assert cursor.fetchall() == [(0, 0, 0)]
    record_property("starts", f"{len(seen)} in {seen[-1] - began:.0f} s, at most {most_within(seen, 60)} in 60 s")


def test_a_rate_that_is_changed_holds_from_then_on(own_database, tmp_path, queue):
    queues.update(queue=queue, actor=SYSTEM, rate_per_second=10, burst=1)
    seconds, changed = 4.0, []
    with workers(own_database, tmp_path, 2):
        submit(queue, 2_000)
        for rate in (10, 1, 100):
            queues.update(queue=queue, actor=SYSTEM, rate_per_second=rate, burst=1)
            changed.append((rate, clock()))
            ended = pass_time(seconds)
    seen = starts()
    for (rate, since), to in zip(changed, [at for _, at in changed[1:]] + [ended], strict=True):
        within = sum(since + LATE <= start < to for start in seen)
        assert within <= 1 + rate * (to - since), rate
        # A bucket of one is full after a tenth of a second: what a busy machine takes too late is not made up for.
        assert within >= min(0.5 * rate * (to - since - LATE) - 1, 20), rate


def test_each_start_spends_a_token_and_nothing_else_does(own_database, tmp_path, queue):
    """Jobs that crash, fail and are tried again, are cancelled while they run, or before they could."""
    rate, burst = 4.0, 2
    soon = RetryPolicy(
        project=queue.project, name="soon", kind="fixed", base_delay_ms=100, jitter=False, max_attempts=3
    )
    soon.save()
    queues.update(queue=queue, actor=SYSTEM, rate_per_second=rate, burst=burst, retry_policy=soon)
    crashing, failing = submit(queue, 2, "die", how="exit"), submit(queue, 2, "effect.fail")
    stopped = submit(queue, 2, "effect.polite", seconds=60)
    for job_id in submit(queue, 3):
        services.cancel(job_id=job_id, actor=SYSTEM)
    jobs = [*crashing, *failing, *stopped, *submit(queue, 4)]
    tokens: list[float] = []

    def ended() -> bool:
        tokens.append(Gate.objects.get(queue=queue).tokens)
        for job_id in stopped:
            if effects(job_id) and find(job_id).cancel_requested_at is None:
                services.cancel(job_id=job_id, actor=SYSTEM)
        return all(find(job_id).state in FINAL for job_id in jobs)

    with worker(own_database, tmp_path, *FLAGS, "--processes", "4"):  # one slot each: a crash has no neighbours
        until(ended, within=60, what=lambda: [find(job_id).state for job_id in jobs])
    seen = starts()
    assert len(seen) == 2 * 3 + 2 * 3 + 2 + 4
    for stretch in (1, 2, 60):
        assert most_within(seen, stretch) <= burst + rate * (stretch + LATE)
    assert seen[-1] - seen[0] >= (len(seen) - burst) / rate - LATE
    assert 0 <= min(tokens) <= max(tokens) <= burst


def test_a_line_of_one_an_hour_holds_up_nobody_beside_it(own_database, tmp_path, queue):
    free = QueueFactory.create(project=queue.project, name="free")
    queues.update(queue=queue, actor=SYSTEM, rate_per_second=1 / 3600, burst=1)
    waiting = submit(queue, QUEUED)
    with worker(own_database, tmp_path, *FLAGS):
        final(*submit(free, 100, "noop"), within=10)
        until(lambda: len(effects()) == 1)
        final(*submit(free, 100, "noop"), within=10)
    assert len(effects()) == 1
    assert Job.objects.filter(queue=queue, state=JobState.QUEUED, attempt=0).count() == len(waiting) - 1
