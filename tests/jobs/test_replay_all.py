"""Replaying all dead letters of a queue: one transaction after the other, none looked at twice, as long as one may wait."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from apps.audit.models import Entry
from apps.jobs import services
from apps.jobs.services import replay_on
from tests.acts import enqueue
from tests.jobs.looks import ANN, fail_for_good, look, run, state
from tests.jobs.test_replay_queue import dead_letters


@pytest.fixture(autouse=True)
def _small(monkeypatch) -> None:
    monkeypatch.setattr(replay_on, "CALL", 2)


@pytest.fixture
def hurried(monkeypatch) -> None:
    """Time is up after each call."""
    monkeypatch.setattr(replay_on, "SECONDS", 0.0)


def replay_all(queue, **how):
    return services.replay_all(queue=queue, actor=ANN, **how)


def in_the_way(queue, session):
    parent = enqueue(queue)
    enqueue(queue, depends_on=[parent])
    fail_for_good(session, queue, parent)
    return parent


def test_it_goes_on_until_none_is_left_and_each_call_is_recorded(queue, session):
    jobs = dead_letters(queue, session, 5)
    done = replay_all(queue)
    assert (done.replayed, done.skipped, done.more) == (5, [], False)
    assert {state(job_id) for job_id in jobs} == {"queued"}
    said = [entry.after["replayed"] for entry in Entry.objects.filter(action="queue.replay").order_by("id")]  # type: ignore[index]
    assert said == [2, 2, 1]


def test_no_more_than_the_limit(queue, session):
    jobs = dead_letters(queue, session, 5)
    done = replay_all(queue, limit=3)
    assert (done.replayed, done.more, done.upto) == (3, True, jobs[2])


def test_when_time_is_up_it_says_where_to_go_on(queue, session, hurried):
    jobs = dead_letters(queue, session, 5)
    done = replay_all(queue)
    assert (done.replayed, done.more, done.upto) == (2, True, jobs[1])
    done = replay_all(queue, after=done.upto)
    assert [state(job_id) for job_id in jobs] == ["queued"] * 4 + ["dead_letter"]
    assert replay_all(queue, after=done.upto).more is False


def test_what_something_stands_in_the_way_of_is_looked_at_once(queue, session):
    stuck = [in_the_way(queue, session) for _ in range(3)]
    free = dead_letters(queue, session, 3)
    done = replay_all(queue)
    assert (done.replayed, done.skipped, done.more) == (3, stuck, False)
    assert {state(job_id) for job_id in free} == {"queued"}


def test_what_fails_again_meanwhile_is_not_taken_again(queue, session, hurried):
    jobs = dead_letters(queue, session, 3)
    done = replay_all(queue)
    fail_for_good(session, queue, jobs[0])
    done = replay_all(queue, after=done.upto)
    assert (done.replayed, done.more) == (1, False)
    assert state(jobs[0]) == "dead_letter"


def test_at_a_rate_the_distance_is_kept_from_call_to_call(queue, session):
    jobs = dead_letters(queue, session, 5)
    began = now()
    done = replay_all(queue, rate_per_second=0.01)
    assert done.due
    took = now() - began
    due = [look(job_id).run_at for job_id in jobs]
    for earlier, later in zip(due, due[1:], strict=False):
        assert abs(later - earlier - timedelta(seconds=100)) <= took
    assert timedelta(seconds=500) <= done.due - began <= timedelta(seconds=500) + took


def test_who_goes_on_later_waits_no_longer_than_the_rate_asks_for(queue, session):
    jobs = dead_letters(queue, session, 1)
    done = replay_all(queue, rate_per_second=0.01, due=now() - timedelta(hours=1))
    assert done.replayed == 1
    assert state(jobs[0]) == "queued"


def deep(queue, depth, most):
    queue.max_depth = most
    queue.save()
    run(
        "INSERT INTO queues_depth (queue_id, queued, running, measured_at) VALUES (%s, %s, 0, now())", [queue.pk, depth]
    )


@pytest.mark.parametrize(("depth", "replayed", "full"), [(0, 3, True), (2, 1, True), (3, 0, True)])
def test_calls_together_do_not_pass_the_depth_that_was_measured_before_the_first(depth, replayed, full, queue, session):
    dead_letters(queue, session, 5)
    deep(queue, depth, 3)
    done = replay_all(queue)
    assert (done.replayed, done.full, done.more) == (replayed, full, True)


def test_a_full_queue_without_dead_letters_stands_in_nobodys_way(queue):
    deep(queue, 3, 3)
    done = replay_all(queue)
    assert (done.replayed, done.full, done.more) == (0, False, False)
