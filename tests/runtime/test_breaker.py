"""The whole story with a real worker and a real scheduler: jobs fail, the queue waits, one tries, the rest follow."""

import pytest
from django.db import connection

from apps.jobs.models import Attempt
from apps.jobs.selectors import find
from apps.jobs.services import submit, submit_batch
from apps.jobs.states import JobState
from tests.jobs.breakers import gate, rules, state, told
from tests.processes import Process, final, until, worker

FAST = ("--poll-interval", "0.1", "--lease", "30", "--processes", "0", "--concurrency", "4", "--no-scheduler")


@pytest.fixture
def hands(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FAST) as process:
        yield process


@pytest.fixture
def loop(own_database, tmp_path, queue):
    """Starts the loop, and ends it."""
    begun: list[Process] = []

    def begin() -> None:
        log = tmp_path / "scheduler.log"
        begun.append(Process("runscheduler", "--only", "breaker", database=own_database, log=log))

    yield begin
    for process in begun:
        process.kill()


def starts(queue, since):
    """When attempts began after a moment, in order."""
    rows = Attempt.objects.filter(queue_id=queue.pk, started_at__gt=since).order_by("started_at")
    return list(rows.values_list("started_at", "finished_at"))


def test_what_a_queue_needs_goes_away_and_comes_back(hands, loop, queue):
    rules(queue, window=5, trip=3, cooldown_seconds=1)
    bad = submit_batch(queue=queue, jobs=[{"type": "boom", "max_attempts": 1}] * 3).jobs
    final(*[one.job_id for one in bad])
    loop()
    until(lambda: state(queue) == "open")
    # The first that tries still fails, and the second does not.
    last = submit(queue=queue, type="boom", max_attempts=1, priority=9)
    good = submit_batch(queue=queue, jobs=[{"type": "effect.patient", "payload": {"seconds": 0.2}}] * 6).jobs
    assert {find(one.job_id).state for one in good} == {JobState.QUEUED}
    final(last.id)
    until(lambda: gate(queue) is None or gate(queue).trips == 2)
    assert {job.state for job in final(*[one.job_id for one in good])} == {JobState.COMPLETED}
    until(lambda: state(queue) is None)
    ways = [(what, data["trips"]) for what, data in told(queue) if what != "half_open"]
    assert ways == [("opened", 1), ("opened", 2), ("closed", 2)]
    [(first, ended), *others] = starts(queue, find(last.id).finished_at)
    assert len(others) == 5
    assert min(start for start, _ in others) > ended  # it was alone until it had succeeded
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(at), max(at) FROM audit_entry WHERE action = 'queue.breaker_open'")
        opened, again = cursor.fetchone()
    assert (find(last.id).started_at - opened).total_seconds() > 0.9
    assert (first - again).total_seconds() > 1.9
