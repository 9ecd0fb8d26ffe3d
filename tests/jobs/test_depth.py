"""How deep a queue is, and that it takes no more than it may: by the last measurement, at no cost that grows."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from apps.errors import QueueFull
from apps.jobs import services
from apps.jobs.engine.depth import depth
from apps.jobs.models import Job
from apps.queues.models import Depth, Queue
from tests import acts
from tests.factories import QueueFactory
from tests.jobs.looks import ANN, let_wait, run, state

pytestmark = pytest.mark.django_db


def measure() -> None:
    """As if the last look were long ago."""
    run("UPDATE queues_depth SET measured_at = measured_at - interval '30 s'")
    depth()


def measured(queue: Queue) -> tuple[int, int]:
    seen = Depth.objects.get(queue=queue)
    return seen.queued, seen.running


def test_what_is_queued_and_runs_is_counted_queue_by_queue(queue, session):
    other = QueueFactory.create(project=queue.project)
    for _ in range(5):
        acts.enqueue(queue)
    acts.enqueue(queue, type="pong")
    acts.enqueue(queue, delay_ms=60_000)
    acts.enqueue(other)
    acts.take(session, queue, limit=2)
    measure()
    assert measured(queue) == (4, 2)
    assert measured(other) == (1, 0)


def test_a_queue_that_ran_empty_is_measured_once_more_and_then_left_alone(queue, session):
    acts.enqueue(queue)
    measure()
    acts.finish(session, acts.take_one(session, queue))
    measure()
    assert measured(queue) == (0, 0)
    run("UPDATE queues_depth SET measured_at = measured_at - interval '30 s'")
    assert depth() == []


def test_the_oldest_is_found_behind_what_is_more_urgent_and_of_every_type(queue):
    acts.enqueue(queue, priority=5)
    acts.enqueue(queue, type="pong")
    old = acts.enqueue(queue, priority=-3)
    acts.enqueue(queue, priority=-3)
    let_wait(old, 3600)
    measure()
    oldest = Depth.objects.get(queue=queue).oldest_at
    assert oldest
    waited = now() - oldest
    assert timedelta(seconds=3590) < waited < timedelta(seconds=3700)


def test_schedulers_measure_in_turn_and_not_each_for_itself(queue):
    acts.enqueue(queue)
    assert depth() == [queue.pk]
    acts.enqueue(QueueFactory.create(project=queue.project))
    assert depth() == []  # another scheduler, a moment later


def test_so_many_queues_a_turn_and_the_others_in_the_next(queue):
    queues = [QueueFactory.create(project=queue.project) for _ in range(5)]
    for one in queues:
        acts.enqueue(one)
    first = depth(every_ms=0, limit=3)
    second = depth(every_ms=0, limit=3)
    assert len(first) == 3
    assert {one.pk for one in queues} <= {*first, *second}


def test_the_deeper_a_queue_the_longer_it_is_left_alone(queue):
    acts.enqueue(queue)
    measure()
    Depth.objects.update(queued=1_000_000, measured_at=now() - timedelta(seconds=4))
    assert depth() == []
    Depth.objects.update(measured_at=now() - timedelta(seconds=6))
    assert depth() == [queue.pk]


def full(queue: Queue, *, most: int, holds: int) -> Queue:
    Queue.objects.filter(pk=queue.pk).update(max_depth=most)
    Depth.objects.update_or_create(queue=queue, defaults={"queued": holds})
    queue.refresh_from_db()
    return queue


def test_a_full_queue_refuses_one_job_and_many_and_says_how_full_it_is(queue):
    full(queue, most=10, holds=10)
    for submit in (
        lambda: services.submit(queue=queue, type="ping"),
        lambda: services.submit(queue="acme/media/images", type="ping"),
        lambda: services.submit_batch(queue=queue, jobs=[{"type": "ping"}]),
        lambda: services.submit_one(queue=queue, fields={"type": "ping"}),
    ):
        with pytest.raises(QueueFull) as refused:
            submit()
        assert refused.value.extra == {"depth": 10, "max_depth": 10}
        assert refused.value.retry_after


def test_a_batch_that_would_pass_the_limit_is_refused_whole(queue):
    full(queue, most=10, holds=8)
    with pytest.raises(QueueFull):
        services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 3)
    assert not Job.objects.filter(queue=queue).exists()
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 2)


def test_it_is_advisory_what_comes_between_two_measurements_passes(queue):
    full(queue, most=3, holds=0)
    for _ in range(5):
        services.submit(queue=queue, type="ping")
    measure()
    with pytest.raises(QueueFull):
        services.submit(queue=queue, type="ping")


def test_a_depth_that_nobody_measures_any_more_is_not_believed(queue):
    full(queue, most=3, holds=3)
    Depth.objects.update(measured_at=now() - timedelta(minutes=2))
    services.submit(queue=queue, type="ping")


def test_a_limit_costs_no_statement_where_the_queue_is_looked_up_by_name(queue, django_assert_num_queries):
    full(queue, most=3, holds=0)
    with django_assert_num_queries(2):  # the queue and the job
        services.submit(queue="acme/media/images", type="ping")


def test_what_a_queue_holds_already_goes_on(queue, session):
    """Retries and replays are no submits."""
    job = acts.enqueue(queue)
    full(queue, most=1, holds=1)
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error")
    services.replay(job_id=job, actor=ANN)
    assert state(job) == "queued"
