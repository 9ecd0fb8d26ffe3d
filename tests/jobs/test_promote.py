"""Promotion: a job whose time has come can be claimed; its place in the line was fixed before."""

import pytest

from apps.jobs.engine.promote import next_due, promote
from tests.acts import enqueue, finish, make_due, take_one
from tests.factories import QueueFactory
from tests.jobs.looks import look, run, state, told, told_of


def test_a_job_whose_time_has_come_is_queued(queue, session):
    job_id = enqueue(queue, delay_ms=60_000)
    make_due(job_id)
    [done] = promote(limit=10)
    assert (done.queue_id, done.jobs) == (queue.id, 1)
    assert take_one(session, queue).job_id == job_id


def test_a_job_that_waited_for_its_retry_is_queued(queue, session):
    job_id = enqueue(queue)
    finish(session, take_one(session, queue), outcome="retryable_error")
    make_due(job_id)
    promote(limit=10)
    assert take_one(session, queue).attempt == 2
    assert told_of(job_id).count("job.promoted") == 1


def test_a_job_whose_time_is_still_ahead_stays(queue):
    job_id = enqueue(queue, delay_ms=60_000)
    assert promote(limit=10) == []
    assert state(job_id) == "scheduled"


def test_its_rank_and_its_time_stay(queue):
    job_id = enqueue(queue, delay_ms=60_000, priority=3)
    make_due(job_id)
    before = look(job_id)
    promote(limit=10)
    after = look(job_id)
    assert (after.rank, after.run_at, after.fence) == (before.rank, before.run_at, before.fence)


@pytest.mark.parametrize("waits", ["blocked", "awaiting_approval"])
def test_what_waits_for_something_else_is_not_promoted_when_its_time_has_passed(queue, waits):
    parent = enqueue(queue, delay_ms=60_000)
    job_id = enqueue(queue, **({"depends_on": [parent]} if waits == "blocked" else {"requires_approval": True}))
    make_due(job_id)
    assert promote(limit=10) == []
    assert state(job_id) == waits


def test_the_longest_due_go_first_when_there_are_many(queue):
    jobs = [enqueue(queue, delay_ms=60_000) for _ in range(5)]
    for age, job_id in enumerate(jobs):
        run(
            "UPDATE jobs_job_live SET run_at = clock_timestamp() - %s * interval '1 s' WHERE id = %s", [age + 1, job_id]
        )
    assert [sum(done.jobs for done in promote(limit=2)) for _ in range(4)] == [2, 2, 1, 0]
    in_order = [job_id for fact in told("job.promoted") for job_id in sorted(fact.job_ids)]
    assert in_order == [*sorted(jobs[3:]), *sorted(jobs[1:3]), jobs[0]]


def test_each_queue_is_counted_and_told_apart(queue):
    other = QueueFactory.create(project=queue.project)
    make_due(*(enqueue(line, delay_ms=60_000) for line in (queue, queue, other)))
    assert {done.queue_id: done.jobs for done in promote(limit=10)} == {queue.id: 2, other.id: 1}
    assert {fact.queue_id: len(fact.job_ids) for fact in told("job.promoted")} == {queue.id: 2, other.id: 1}


def test_the_promoter_knows_how_long_it_may_sleep(queue):
    assert next_due() == []
    enqueue(queue, delay_ms=60_000)
    soon = enqueue(queue, delay_ms=30_000)
    assert next_due()[0] == pytest.approx(30, abs=2)
    make_due(soon)
    assert next_due()[0] < 0
