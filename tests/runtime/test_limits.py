"""Limits with real workers: judged by what handlers wrote over connections of their own, not by states."""

from itertools import pairwise

import pytest
from django.db import connection

from apps.audit.record import SYSTEM
from apps.jobs.engine.wake import CHANNEL, hush
from apps.jobs.models import Attempt
from apps.jobs.selectors import find
from apps.jobs.services import submit, submit_batch
from apps.jobs.states import JobState
from apps.queues.models import Gate
from apps.queues.services import queues
from apps.sql import open_own
from tests.factories import QueueFactory
from tests.processes import effects, final, until, worker

FAST = ("--poll-interval", "0.2", "--lease", "30", "--processes", "0", "--concurrency", "8")


def at_once() -> int:
    """The most that ran at the same time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT started_at, 1 FROM effects UNION ALL SELECT ended_at, -1 FROM effects ORDER BY 1, 2")
        most = now = 0
        for _, change in cursor.fetchall():
            now += change
            most = max(most, now)
        return most


@pytest.mark.parametrize("shards", [1, 2])
def test_a_cap_holds_over_all_workers_and_is_used(own_database, tmp_path, queue, shards):
    queues.update(queue=queue, actor=SYSTEM, max_concurrency=3, shards=shards)
    made = submit_batch(queue=queue, jobs=[{"type": "effect.patient", "payload": {"seconds": 0.1}}] * 24).jobs
    with worker(own_database, tmp_path, *FAST), worker(own_database, tmp_path, *FAST, name="second"):
        assert {job.state for job in final(*[one.job_id for one in made], within=40)} == {JobState.COMPLETED}
    assert at_once() == 3
    assert set(Attempt.objects.values_list("attempt", "outcome")) == {(1, "success")}


def test_a_cap_that_is_far_away_is_counted_all_the_same(own_database, tmp_path, queue):
    """Claimed before the gate is charged; the last hundred places are not."""
    queues.update(queue=queue, actor=SYSTEM, max_concurrency=150, shards=1)
    wide = ("--poll-interval", "0.2", "--lease", "30", "--processes", "0", "--concurrency", "120")
    made = submit_batch(queue=queue, jobs=[{"type": "effect.patient", "payload": {"seconds": 2}}] * 240).jobs
    with worker(own_database, tmp_path, *wide), worker(own_database, tmp_path, *wide, name="second"):
        assert {job.state for job in final(*[one.job_id for one in made], within=60)} == {JobState.COMPLETED}
    assert 100 < at_once() <= 150
    assert set(Attempt.objects.values_list("attempt", "outcome")) == {(1, "success")}
    assert Gate.objects.get(queue=queue).in_flight == 0


def test_a_key_runs_one_at_a_time_over_all_workers_and_keys_run_beside_each_other(own_database, tmp_path, queue):
    queues.update(queue=queue, actor=SYSTEM, max_per_key=1)
    body = {"type": "effect.patient", "payload": {"seconds": 0.1}}
    made = submit_batch(queue=queue, jobs=[{**body, "concurrency_key": f"key-{n % 4}"} for n in range(24)]).jobs
    with worker(own_database, tmp_path, *FAST), worker(own_database, tmp_path, *FAST, name="second"):
        assert {job.state for job in final(*[one.job_id for one in made], within=40)} == {JobState.COMPLETED}
    assert 2 <= at_once() <= 4
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM effects AS one INNER JOIN effects AS other ON one.id < other.id"
            " AND tstzrange(one.started_at, one.ended_at) && tstzrange(other.started_at, other.ended_at)"
            " INNER JOIN jobs_job AS a ON a.id = one.job INNER JOIN jobs_job AS b ON b.id = other.job"
            " WHERE a.concurrency_key = b.concurrency_key"
        )
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT extract(EPOCH FROM max(ended_at) - min(started_at)) FROM effects")
        assert float(cursor.fetchone()[0]) < 5  # six in a row of 0.1 s: nobody waited for a loop
    assert set(Attempt.objects.values_list("attempt", "outcome")) == {(1, "success")}


def test_the_other_workers_hear_of_a_place_that_an_end_set_free(own_database, tmp_path, queue):
    queues.update(queue=queue, actor=SYSTEM, max_per_key=1)
    with open_own() as line, worker(own_database, tmp_path, *FAST):
        first, _ = (
            submit(queue=queue, type="effect.patient", payload={"seconds": 1}, concurrency_key="k") for _ in range(2)
        )
        until(lambda: effects(first.id))
        hush()  # what the submits had to say is said
        line.execute(f"LISTEN {CHANNEL}")
        [word] = line.notifies(timeout=10, stop_after=1)
        assert str(queue.pk) in word.payload
        assert find(first.id).state == JobState.COMPLETED


def test_a_rate_holds_and_what_has_none_is_not_held_up(own_database, tmp_path, queue):
    queues.update(queue=queue, actor=SYSTEM, rate_per_second=5, burst=2)
    free = QueueFactory.create(project=queue.project, name="free")
    limited = submit_batch(queue=queue, jobs=[{"type": "effect.patient"}] * 12).jobs
    with worker(own_database, tmp_path, *FAST):
        others = [submit(queue=free, type="noop").id for _ in range(50)]
        assert {job.state for job in final(*others)} == {JobState.COMPLETED}
        assert {job.state for job in final(*[one.job_id for one in limited])} == {JobState.COMPLETED}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(EPOCH FROM started_at)::float8 FROM jobs_attempt WHERE queue_id = %s", [queue.pk]
        )
        starts = sorted(start for (start,) in cursor.fetchall())
    for first, start in enumerate(starts):
        within = [other for other in starts[first:] if other < start + 1]
        assert len(within) <= 2 + 5
    assert starts[-1] - starts[0] >= (12 - 2) / 5 - 0.05
    assert max(later - earlier for earlier, later in pairwise(starts)) < 1


def test_burst_waits_for_tokens_and_leaves_nothing(own_database, tmp_path, queue):
    queues.update(queue=queue, actor=SYSTEM, rate_per_second=4, burst=1)
    made = submit_batch(queue=queue, jobs=[{"type": "noop"}] * 5).jobs
    with worker(own_database, tmp_path, *FAST, "--burst") as process:
        assert process.wait() == 0
    assert {job.state for job in final(*[one.job_id for one in made])} == {JobState.COMPLETED}
