"""A change of ageing ranks those who wait anew, in batches and from outside any request."""

import asyncio

import pytest
from django.db import transaction

from apps.jobs.engine.ready import NOWHERE
from apps.jobs.engine.rerank import rerank
from apps.jobs.loops import rank_anew
from apps.queues import services as queues
from apps.queues.engine.rerank import rerank_due, rerank_settle
from apps.queues.models import Queue
from apps.sql import open_async
from tests.acts import enqueue, finish, take_one
from tests.factories import QueueFactory
from tests.jobs.looks import ANN, let_wait, look, order, run


def look_again():
    """One turn of the loop, on a connection of its own."""

    async def go():
        async with await open_async() as connection:
            await rank_anew(connection)

    asyncio.run(go())


def age(queue, seconds):
    queues.update(queue=queue, actor=ANN, aging_seconds=seconds)


def mark(queue):
    return Queue.objects.get(pk=queue.pk).rerank_after


def walk(queue, limit=1000):
    """All batches on this connection; answers how many rows changed in each."""
    after, changed = NOWHERE, []
    while True:
        span = rerank(queues=[queue.pk], after=after, limit=limit)
        changed.append(span.changed)
        if span.upto is None or span.seen < limit:
            return changed
        after = span.upto


def test_those_who_wait_are_ordered_by_the_new_ageing(queue, session):
    patient = enqueue(queue, priority=0)
    let_wait(patient, 61)
    urgent = enqueue(queue, priority=1)
    age(queue, 60)
    assert mark(queue) < 0
    assert walk(queue) == [2]
    assert order(session, queue) == [patient, urgent]


@pytest.mark.parametrize(("old", "new"), [(None, 60), (60, None), (60, 0), (0, 10**8), (10**8, None), (0, 7)])
def test_each_is_ranked_as_if_it_had_been_submitted_so(old, new, project):
    queue = QueueFactory.create(project=project, aging_seconds=old)
    jobs = [enqueue(queue, priority=priority) for priority in (-1000, -1, 0, 1, 1000)]
    age(queue, new)
    walk(queue)
    worth = 2**52 if new is None else new * 1_000_000
    for job_id in jobs:
        job = look(job_id)
        due = round(job.run_at.timestamp() * 1_000_000)
        assert job.rank == due - job.priority * worth
        assert job.ranked_aging == (None if new is None else worth)


def test_batches_are_bounded_and_pass_over_other_queues(queue, project):
    other = QueueFactory.create(project=project)
    for _ in range(5):
        enqueue(queue, priority=1)
        enqueue(other, priority=1)
    age(queue, 60)
    assert walk(queue, limit=4) == [2, 2, 1]
    assert walk(queue, limit=4) == [0, 0, 0]
    assert run("SELECT count(*) FROM jobs_job_live WHERE ranked_aging IS NULL") == [(5,)]


def test_what_runs_is_ranked_too_for_it_may_be_lost(queue, session):
    job_id = enqueue(queue, priority=3)
    taken = take_one(session, queue)
    age(queue, 60)
    assert walk(queue) == [1]
    assert look(job_id).ranked_aging == 60_000_000
    finish(session, taken, outcome="retryable_error")
    assert look(job_id).rank == round(look(job_id).run_at.timestamp() * 1_000_000) - 180_000_000


def test_another_change_asks_for_nothing(queue):
    queues.update(queue=queue, actor=ANN, timeout_ms=5)
    age(queue, None)
    assert mark(queue) is None


def test_a_change_during_the_walk_is_walked_again(queue):
    age(queue, 60)
    [seen] = rerank_due()
    age(queue, 70)
    assert rerank_settle(queues=[seen.queue_id], marks=[seen.mark]) == []
    assert mark(queue) < 0


def test_the_loop_looks_twice_the_second_time_when_older_transactions_have_ended(arena, queue):
    first = enqueue(queue, priority=1)
    age(queue, 60)
    with transaction.atomic():
        run("SELECT 1")  # begun before the loop looks
        look_again()
        assert look(first).ranked_aging == 60_000_000
        assert mark(queue) > 0
        look_again()
        assert mark(queue) > 0
        # … and it may still write what it read of the old ageing
        late = enqueue(queue, priority=1)
        run("UPDATE jobs_job_live SET ranked_aging = NULL WHERE id = %s", [late])
    look_again()
    assert (mark(queue), look(late).ranked_aging) == (None, 60_000_000)


def test_the_loop_comes_back_for_what_somebody_held(arena, queue):
    job_id = enqueue(queue, priority=1)
    age(queue, 60)
    with transaction.atomic():
        run("SELECT FROM jobs_job_live WHERE id = %s FOR UPDATE", [job_id])
        look_again()
    assert (mark(queue) < 0, look(job_id).ranked_aging) == (True, None)
    look_again()
    assert look(job_id).ranked_aging == 60_000_000
