"""Whoever races for a unique key: one live job holds it, and all are answered that one."""

from functools import partial

import pytest

from apps.errors import KeyTaken
from apps.jobs import services
from apps.jobs.models import Job
from tests.acts import enqueue, finish, take_one
from tests.jobs.looks import ANN, fail_for_good, look, state
from tests.races.stage import meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def submit(queue, key="k"):
    return services.submit(queue=queue, type="ping", unique_key=key)


def replay(job_id):
    services.replay(job_id=job_id, actor=ANN)


def test_eight_who_ask_at_once_are_answered_one_job(queue):
    for turn in range(5):
        answers = together(*[lambda key=f"key-{turn}": submit(queue, key)] * 8)
        assert len({answer.id for answer in answers}) == 1
        assert [answer.is_new for answer in answers].count(True) == 1
    assert Job.objects.count() == 5


def test_the_second_waits_for_the_first_and_is_answered_it(queue):
    with meanwhile(lambda: submit(queue)) as second:
        first = submit(queue)
    assert (second.result().id, second.result().is_new) == (first.id, False)


def test_the_second_becomes_the_job_when_the_first_is_undone(queue):
    with meanwhile(lambda: submit(queue), then="undo") as second:
        first = submit(queue)
    assert second.result().is_new
    assert [job.id for job in Job.objects.all()] == [second.result().id] != [first.id]


def test_bulks_with_the_same_keys_in_opposite_order_never_deadlock(queue):
    keys = [f"{n:03}" for n in range(200)]

    def bulk(order):
        return services.submit_batch(queue=queue, jobs=[{"type": "ping", "unique_key": key} for key in order]).jobs

    for turn in range(3):
        order = [f"{turn}-{key}" for key in keys]
        ahead, back = together(partial(bulk, order), partial(bulk, order[::-1]))
        assert [one.job_id for one in ahead] == [one.job_id for one in reversed(back)]
        assert sum(one.is_new for one in (*ahead, *back)) == 200


def test_a_bulk_takes_its_keys_in_their_order_not_in_its_own(queue):
    bulk = [{"type": "ping", "unique_key": key} for key in ("b", "a")]
    with meanwhile(lambda: services.submit_batch(queue=queue, jobs=bulk).jobs) as asked:
        first = submit(queue, "a")
        asked.meet()
        second = submit(queue, "b")  # it waits for "a" and does not hold "b" yet
    assert [one.job_id for one in asked.result()] == [second.id, first.id]


def test_a_key_whose_holder_ends_while_it_is_asked_for_makes_a_new_job(queue, session):
    first = submit(queue)
    taken = take_one(session, queue)
    with meanwhile(lambda: submit(queue)) as second:
        finish(session, taken)
    assert second.result().is_new
    assert second.result().id != first.id
    assert state(first.id) == "completed"


def test_a_replay_that_meets_a_new_holder_of_its_key_names_it(queue, session):
    dead = enqueue(queue, unique_key="k")
    fail_for_good(session, queue, dead)
    with meanwhile(lambda: replay(dead)) as replayed:
        holder = submit(queue).id
    with pytest.raises(KeyTaken, match=str(holder)):
        replayed.result()
    assert state(dead) == "dead_letter"


def test_a_replay_goes_on_when_the_new_holder_of_its_key_is_undone(queue, session):
    dead = enqueue(queue, unique_key="k")
    fail_for_good(session, queue, dead)
    with meanwhile(lambda: replay(dead), then="undo") as replayed:
        submit(queue)
    assert replayed.exception() is None
    assert state(dead) == "queued"


def test_one_who_asks_while_its_dead_letter_is_replayed_is_answered_that(queue, session):
    dead = enqueue(queue, unique_key="k")
    fail_for_good(session, queue, dead)
    with meanwhile(lambda: submit(queue)) as asked:
        replay(dead)
    assert (asked.result().id, asked.result().is_new) == (dead, False)
    assert look(dead).generation == 2


def test_a_replay_and_eight_who_ask_at_once_leave_one_holder(queue, session):
    dead = enqueue(queue, unique_key="k")
    fail_for_good(session, queue, dead)

    def try_replay():
        try:
            replay(dead)
        except KeyTaken as refusal:
            return refusal.extra["job_id"]
        return str(dead)

    answers = together(try_replay, *[lambda: str(submit(queue).id)] * 7)
    assert len(set(answers)) == 1
    assert Job.objects.filter(unique_key="k", shelved_on=None).count() == 1
