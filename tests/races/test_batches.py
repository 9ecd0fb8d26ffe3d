"""What follows a batch is made once, however many last jobs end together and whoever looks."""

import pytest
from django.db import transaction

from apps.jobs import services
from apps.jobs.models import Batch, Job
from tests.acts import finish, take
from tests.factories import SessionFactory
from tests.jobs.looks import ANN
from tests.races.stage import aside, meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def submit(queue, count):
    jobs = [{"type": "ping"}] * count
    return services.submit_batch(queue=queue, jobs=jobs, on_complete={"type": "publish"}).batch


def followers():
    return list(Job.objects.filter(type="publish"))


def look_until_done():
    for _ in range(50):
        services.complete_batches()


@pytest.mark.parametrize("round_", range(3))
def test_the_last_jobs_of_many_batches_end_together_and_each_is_followed_once(queue, round_):
    batches = [submit(queue, 4) for _ in range(10)]
    sessions = SessionFactory.create_batch(3, concurrency=100)
    hands = [take(session, queue, limit=14) for session in sessions]
    ends = [
        lambda one=session, hand=hand: [finish(one, taken) for taken in hand]
        for session, hand in zip(sessions, hands, strict=True)
    ]
    together(*ends, look_until_done, look_until_done, look_until_done)
    services.complete_batches()
    told = sorted(job.payload["batch"]["id"] for job in followers())
    assert told == sorted(str(batch.pk) for batch in batches)
    assert {job.payload["batch"]["completed"] for job in followers()} == {4}


def test_a_batch_whose_follower_is_being_made_is_passed_over_by_others(queue, session):
    batch = submit(queue, 1)
    finish(session, *take(session, queue))
    with transaction.atomic():
        assert services.complete_batches() == 1
        assert aside(services.complete_batches) == 0
    assert Batch.objects.get(pk=batch.pk).on_complete_job == followers()[0].pk


def test_what_is_undone_while_it_is_made_is_made_again_by_the_next(queue, session):
    submit(queue, 1)
    finish(session, *take(session, queue))
    with transaction.atomic():
        assert services.complete_batches() == 1
        transaction.set_rollback(True)
    assert followers() == []
    assert services.complete_batches() == 1
    assert len(followers()) == 1


def test_a_last_job_that_has_not_committed_its_end_is_waited_for(queue, session):
    submit(queue, 1)
    [taken] = take(session, queue)
    with transaction.atomic():
        finish(session, taken)
        assert aside(services.complete_batches) == 0
    assert services.complete_batches() == 1


def test_a_cancel_that_meets_the_end_of_a_job_leaves_it(queue, session):
    batch = submit(queue, 2)
    [taken] = take(session, queue, limit=1)
    with meanwhile(lambda: services.cancel_batch(batch=batch, actor=ANN)):
        finish(session, taken)
    services.complete_batches()
    told = followers()[0].payload["batch"]
    assert (told["completed"], told["cancelled"]) == (1, 1)
