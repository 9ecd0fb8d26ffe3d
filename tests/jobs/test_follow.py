"""Jobs that follow a success are made in its transaction, or not at all."""

import pytest
from django.db import Error, transaction

from apps.jobs import services
from apps.jobs.engine.enqueue import NewJob
from apps.queues.models import Queue
from tests.acts import enqueue, finish, take_one
from tests.jobs.looks import ANN, let_lapse, look, overrun, reap_all, run, state, told


def follower(queue, **fields):
    return NewJob(queue_id=queue.pk, type="after", payload='{"n":1}', **fields)


def followers():
    return [one for (one,) in run("SELECT id FROM jobs_job WHERE type = 'after'")]


def test_they_are_made_with_the_success_and_carry_its_request(queue, session):
    job = enqueue(queue)
    new = follower(queue, priority=3)
    finish(session, take_one(session, queue), follow=(new,), request_id="request-7")
    assert state(job) == "completed"
    made = look(new.id)
    assert (made.state, made.payload, made.priority, made.request_id) == ("queued", {"n": 1}, 3, "request-7")
    assert new.id in told("job.enqueued")[-1].job_ids


@pytest.mark.parametrize(
    "outcome", ["retryable_error", "permanent_error", "snoozed", "released", "cancelled", "crashed"]
)
def test_no_other_end_makes_them(queue, session, outcome):
    enqueue(queue)
    finish(session, take_one(session, queue), outcome=outcome, follow=(follower(queue),))
    assert followers() == []


def test_a_success_after_a_cancel_or_past_its_time_makes_none(queue, session):
    for spoil in (lambda job: services.cancel(job_id=job, actor=ANN), lambda job: overrun(job, 3600)):
        job = enqueue(queue)
        taken = take_one(session, queue)
        spoil(job)
        finish(session, taken, follow=(follower(queue),))
        assert look(job).state != "completed"
    assert followers() == []


def test_whoever_lost_the_job_makes_none_and_the_next_attempt_makes_them_once(queue, session):
    job = enqueue(queue)
    lost = take_one(session, queue)
    let_lapse(session)
    reap_all()
    assert finish(session, lost, follow=(follower(queue),)) == []
    assert followers() == []
    services.retry_now(job_id=job, actor=ANN)
    run("UPDATE workers_session SET lease_expires_at = now() + interval '1 h', lease_seconds = 30, fenced_at = NULL")
    again = take_one(session, queue)
    new = follower(queue)
    for _report in range(2):
        finish(session, again, follow=(new,))
    assert followers() == [new.id]


def test_those_of_many_reports_in_one_batch_are_all_made(queue, session):
    enqueue(queue), enqueue(queue)
    [one, other] = sorted((take_one(session, queue), take_one(session, queue)), key=lambda claim: claim.job_id)
    made = [follower(queue) for _ in range(3)]
    finish(session, one, follow=(made[0], made[1]))
    finish(session, other, follow=(made[2],))
    assert set(followers()) == {job.id for job in made}


def test_one_whose_unique_key_is_held_is_not_made_and_the_others_are(queue, session):
    holder = enqueue(queue, type="other", unique_key="u")
    enqueue(queue)
    free = follower(queue)
    finish(session, take_one(session, queue), follow=(follower(queue, unique_key="u"), free))
    assert (followers(), state(holder)) == ([free.id], "queued")


def test_one_with_a_concurrency_key_waits_to_be_let_through(queue, session):
    Queue.objects.update(max_per_key=1)
    enqueue(queue)
    new = follower(queue, concurrency_key="k")
    finish(session, take_one(session, queue), follow=(new,))
    assert look(new.id).key_full


def test_where_they_cannot_be_made_nothing_has_succeeded(queue, session):
    job = enqueue(queue)
    taken = take_one(session, queue)
    with pytest.raises(Error), transaction.atomic():
        finish(session, taken, follow=(NewJob(queue_id=queue.pk, type="after", payload="no json"),))
    assert (state(job), followers()) == ("running", [])
    finish(session, taken)
