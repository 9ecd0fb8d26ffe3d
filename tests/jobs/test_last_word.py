"""What a job said last is kept as it ends, as that of its attempt and of no other."""

import pytest

from apps.jobs.engine.heartbeat import Told
from apps.jobs.engine.last_word import last_word
from apps.jobs.engine.replay import replay
from apps.jobs.models import Progress
from apps.jobs.selectors import detail, find
from tests.acts import enqueue, finish, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import come_round
from tests.jobs.test_heartbeat import beat


def say(session, taken, done, **more):
    return last_word(session_id=session.pk, told=[(taken.fence, Told(job_id=taken.job_id, done=done, **more))])


def test_it_follows_what_heartbeats_brought(queue, session):
    enqueue(queue)
    taken = take_one(session, queue)
    beat(session, taken, told=[Told(job_id=taken.job_id, done=7, total=9, stage="read")])
    assert say(session, taken, 9, total=9, stage="sent") == [taken.job_id]
    finish(session, taken)
    said = detail.progress(find(taken.job_id))
    assert said
    assert (said.done, said.total, said.stage, said.attempt) == (9, 9, "sent", 1)


def test_of_an_attempt_that_is_over_nothing_is_kept(queue, session):
    enqueue(queue)
    taken = take_one(session, queue)
    finish(session, taken)
    assert say(session, taken, 1) == []
    assert not Progress.objects.exists()


def test_of_an_earlier_attempt_nothing_is_kept(queue, session):
    enqueue(queue)
    first = take_one(session, queue)
    finish(session, first, outcome="released")
    take_one(session, queue)
    assert say(session, first, 1) == []


def test_nothing_is_kept_of_what_another_session_runs(queue, session):
    enqueue(queue)
    assert say(SessionFactory.create(), take_one(session, queue), 1) == []


def test_a_later_attempt_does_not_show_how_far_the_one_before_came(queue, session):
    job_id = enqueue(queue, max_attempts=2)
    first = take_one(session, queue)
    say(session, first, 5)
    finish(session, first, outcome="retryable_error", error_class="Broken")
    assert detail.progress(find(job_id))
    come_round(job_id)
    take_one(session, queue)
    assert detail.progress(find(job_id)) is None


def test_a_replayed_job_does_not_show_how_far_it_came_before(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    say(session, taken, 5)
    finish(session, taken, outcome="permanent_error", error_class="Broken")
    assert detail.progress(find(job_id))
    replay(delays_ms={job_id: 0})
    assert detail.progress(find(job_id)) is None


@pytest.mark.parametrize("done", [0, 2**62])
def test_any_number_is_kept(queue, session, done):
    enqueue(queue)
    say(session, take_one(session, queue), done)
    assert Progress.objects.get().done == done
