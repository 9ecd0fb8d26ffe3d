"""Concurrency keys under a crowd: whoever lets through, claims, ends or submits at the same time, a key is never passed."""

import pytest
from django.db import transaction

from apps.jobs import services
from apps.jobs.engine.admit import admit
from apps.jobs.engine.claim import claim
from apps.jobs.engine.report import Ended, report
from apps.queues.models import Queue
from tests.acts import enqueue
from tests.factories import SessionFactory
from tests.jobs.looks import run
from tests.races.stage import aside, meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")
OFFERS: dict[str, int | None] = {"ping": None}

MOST_AT_ONCE = """
SELECT max(step.jobs)
FROM (
    SELECT sum(edge.change) OVER (PARTITION BY job.concurrency_key ORDER BY edge.at, edge.change) AS jobs
    FROM jobs_attempt AS attempt
    INNER JOIN jobs_job AS job ON attempt.job_id = job.id
    CROSS JOIN LATERAL (VALUES (attempt.started_at, 1), (attempt.finished_at, -1)) AS edge (at, change)
) AS step
"""


def submit(queue, count=1, *, key="k", **fields):
    made = services.submit_batch(
        queue=queue, jobs=[{"type": "ping", "concurrency_key": key, **fields} for _ in range(count)]
    )
    return [one.job_id for one in made.jobs]


def take(session, queue, limit=2):
    return claim(session_id=session.pk, queues=[queue.pk], offers=OFFERS, limit=limit).jobs


def finish(session, taken):
    report(
        ended=[
            Ended(job_id=job.job_id, fence=job.fence, session_id=session.pk, outcome="success", delay_ms=None)
            for job in taken
        ]
    )


def through():
    return [one for (one,) in run("SELECT id FROM jobs_job_live WHERE state = 'queued' AND NOT key_full")]


@pytest.mark.parametrize("most", [1, 3])
def test_a_crowd_that_claims_ends_and_submits_never_runs_more_of_a_key_than_it_may(queue, most):
    Queue.objects.update(max_per_key=most)
    sessions = SessionFactory.create_batch(6, concurrency=100)
    keys = [f"key-{number}" for number in range(3)]

    def turn(session):
        for step in range(12):
            submit(queue, key=keys[step % 3], priority=step % 5)
            taken = take(session, queue)
            finish(session, taken)
            admit(keys=[(queue.pk, key) for key in {job.concurrency_key for job in taken}])

    together(*[lambda one=one: turn(one) for one in sessions])
    while taken := take(sessions[0], queue):
        finish(sessions[0], taken)
        admit(keys=[(queue.pk, key) for key in keys])
    assert run("SELECT count(*) FROM jobs_job_live") == [(0,)]
    assert run(MOST_AT_ONCE)[0][0] <= most


def test_two_that_let_through_at_once_let_one_through(queue):
    Queue.objects.update(max_per_key=None)
    submit(queue, 4)
    run("UPDATE jobs_job_live SET key_full = TRUE")
    Queue.objects.update(max_per_key=1)
    with meanwhile(lambda: admit(keys=[(queue.pk, "k")])) as second:
        assert [one.jobs for one in admit(keys=[(queue.pk, "k")])] == [1]
    assert second.result() == []
    assert len(through()) == 1


def test_whoever_is_being_claimed_does_not_give_way(queue):
    Queue.objects.update(max_per_key=1)
    [slow] = submit(queue)
    session = SessionFactory.create(concurrency=10)
    with transaction.atomic():
        [claimed] = take(session, queue)
        assert claimed.job_id == slow
        aside(lambda: enqueue(queue, concurrency_key="k", priority=10))
        assert aside(lambda: admit(keys=[(queue.pk, "k")])) == []
    assert through() == []


def test_whoever_gives_way_is_not_claimed(queue):
    Queue.objects.update(max_per_key=1)
    [slow] = submit(queue)
    session = SessionFactory.create(concurrency=10)
    urgent = aside(lambda: enqueue(queue, concurrency_key="k", priority=10))  # and nobody let it through
    with transaction.atomic():
        admit(keys=[(queue.pk, "k")])
        assert aside(lambda: take(session, queue)) == []
    assert [job.job_id for job in take(session, queue)] == [urgent]
    assert run("SELECT key_full FROM jobs_job_live WHERE id = %s", [slow]) == [(True,)]


def test_a_caller_who_keeps_a_transaction_open_holds_up_nobody_else_of_the_key(queue):
    Queue.objects.update(max_per_key=1)
    session = SessionFactory.create(concurrency=10)
    first, second = submit(queue, 2)
    with transaction.atomic():
        submit(queue)
        [claimed] = aside(lambda: take(session, queue))
        assert claimed.job_id == first
        aside(lambda: finish(session, [claimed]))
        aside(lambda: admit(keys=[(queue.pk, "k")]))
        assert [job.job_id for job in aside(lambda: take(session, queue))] == [second]
