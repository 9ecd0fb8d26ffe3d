"""Replaying a queue's dead letters in bulk: oldest first, at a rate, and naming those that were left."""

import time
from datetime import timedelta

import pytest

from apps.audit.models import Entry
from apps.errors import BadInput, InUse
from apps.jobs import services
from apps.jobs.selectors.why import why_waiting
from apps.jobs.services import replay_many
from apps.queues import services as queues
from tests.acts import enqueue, finish, take, take_one
from tests.factories import QueueFactory
from tests.jobs.looks import ANN, come_round, fail_for_good, look, run, state
from tests.jobs.test_gates import admitted, limit


def replay_queue(queue, **how):
    return services.replay_queue(queue=queue, actor=ANN, **how)


def dead_letters(queue, session, count):
    jobs = [enqueue(queue) for _ in range(count)]
    for job_id in jobs:
        fail_for_good(session, queue, job_id)
    return jobs


def test_all_of_a_queue_and_no_others_are_replayed(queue, session):
    other = QueueFactory.create(project=queue.project)
    jobs, [his] = dead_letters(queue, session, 4), dead_letters(other, session, 1)
    done = replay_queue(queue)
    assert (done.replayed, done.skipped) == (4, [])
    assert {state(job_id) for job_id in jobs} == {"queued"}
    assert state(his) == "dead_letter"
    assert {taken.job_id for taken in take(session, queue)} == set(jobs)


def test_no_more_than_the_limit_and_the_oldest_first(queue, session):
    jobs = dead_letters(queue, session, 4)
    assert replay_queue(queue, limit=2).replayed == 2
    assert [state(job_id) for job_id in jobs] == ["queued", "queued", "dead_letter", "dead_letter"]


def test_at_a_rate_they_come_one_after_the_other(queue, session):
    jobs = dead_letters(queue, session, 4)
    replay_queue(queue, rate_per_second=2)
    assert [state(job_id) for job_id in jobs] == ["queued", "scheduled", "scheduled", "scheduled"]
    steps = [look(later).run_at - look(earlier).run_at for earlier, later in zip(jobs, jobs[1:], strict=False)]
    for step in steps:
        assert timedelta(milliseconds=500) <= step < timedelta(milliseconds=1500)
    for job_id in jobs:
        come_round(job_id)
        assert take_one(session, queue).job_id == job_id


@pytest.mark.parametrize("rate", [0, -1, 1e-300, float("nan"), float("inf"), 1e9])
def test_a_rate_that_is_none_is_refused(queue, session, rate):
    [job_id] = dead_letters(queue, session, 1)
    with pytest.raises(BadInput) as refusal:
        replay_queue(queue, rate_per_second=rate)
    assert [fault.pointer for fault in refusal.value.errors] == ["#/rate_per_second"]
    assert state(job_id) == "dead_letter"


def test_those_that_something_stands_in_the_way_of_are_left_and_named(queue, session):
    keyed = enqueue(queue, unique_key="k")
    fail_for_good(session, queue, keyed)
    enqueue(queue, type="pong", unique_key="k")
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    fail_for_good(session, queue, parent)
    [free] = dead_letters(queue, session, 1)
    done = replay_queue(queue)
    assert (done.replayed, done.skipped) == (1, [keyed, parent])
    assert [state(job_id) for job_id in (keyed, parent, child, free)] == [
        "dead_letter",
        "dead_letter",
        "cancelled",
        "queued",
    ]


def test_only_those_that_failed_last_with_a_class(queue, session):
    jobs = []
    for errors in (("A", "B"), ("B", "A"), ("A", "A")):
        jobs.append(enqueue(queue, max_attempts=2))
        for error in errors:
            finish(session, take_one(session, queue), outcome="retryable_error", error_class=error)
            come_round(jobs[-1])
    assert replay_queue(queue, error_class="A").replayed == 2
    assert [state(job_id) for job_id in jobs] == ["dead_letter", "queued", "queued"]


def test_it_is_one_entry(queue, session):
    dead_letters(queue, session, 3)
    replay_queue(queue, error_class="Broken")
    [entry] = Entry.objects.filter(action="queue.replay")
    assert entry.after == {"replayed": 3, "skipped": 0, "error_class": "Broken"}


def test_an_empty_queue_is_replayed_too(queue):
    assert replay_queue(queue).replayed == 0


def test_what_is_in_the_way_of_the_oldest_is_not_in_the_way_of_the_others(queue, session, monkeypatch):
    monkeypatch.setattr(replay_many, "SOME", 2)
    stuck = []
    for _ in range(3):
        stuck.append(enqueue(queue))
        enqueue(queue, depends_on=[stuck[-1]])
        fail_for_good(session, queue, stuck[-1])
    free = dead_letters(queue, session, 3)
    done = replay_queue(queue, limit=2)
    assert (done.replayed, done.skipped, done.more) == (2, stuck, True)
    assert [state(job_id) for job_id in free] == ["queued", "queued", "dead_letter"]
    assert not replay_queue(queue, limit=2).more


def test_delays_have_no_gaps_where_some_were_left(queue, session):
    first = dead_letters(queue, session, 1)
    parent = enqueue(queue)
    enqueue(queue, depends_on=[parent])
    fail_for_good(session, queue, parent)
    second = dead_letters(queue, session, 1)
    began = time.monotonic()
    assert replay_queue(queue, rate_per_second=0.1).skipped == [parent]
    took = timedelta(seconds=time.monotonic() - began)
    apart = look(second[0]).run_at - look(first[0]).run_at
    assert timedelta(seconds=10) <= apart <= timedelta(seconds=10) + took


@pytest.mark.parametrize(
    ("depth", "replayed", "full"), [(0, 3, True), (1, 2, True), (3, 0, True), (9, 0, True), (None, 3, True)]
)
def test_it_stops_where_the_queue_would_be_too_deep(depth, replayed, full, queue, session):
    jobs = dead_letters(queue, session, 4)
    queue.max_depth = 3
    queue.save()
    if depth is not None:
        run(
            "INSERT INTO queues_depth (queue_id, queued, running, measured_at) VALUES (%s, %s, 0, now())",
            [queue.pk, depth],
        )
    done = replay_queue(queue)
    assert (done.replayed, done.full, done.more) == (replayed, full, replayed < 4)
    assert [state(job_id) for job_id in jobs].count("queued") == replayed


def test_one_that_fits_whole_is_not_called_full(queue, session):
    dead_letters(queue, session, 2)
    queue.max_depth = 2
    queue.save()
    run("INSERT INTO queues_depth (queue_id, queued, running, measured_at) VALUES (%s, 0, 0, now())", [queue.pk])
    done = replay_queue(queue)
    assert (done.replayed, done.full, done.more) == (2, False, False)


def test_dead_letters_of_a_paused_queue_and_of_an_unknown_type_wait_there(queue, session):
    [job_id] = dead_letters(queue, session, 1)
    queues.pause(queue=queue, actor=ANN)
    assert replay_queue(queue).replayed == 1
    assert take(session, queue) == []
    waiting = why_waiting(look(job_id))
    assert waiting
    assert [gate.code for gate in waiting.gates] == ["queue_paused", "no_worker", "in_line"]


def test_what_was_replayed_obeys_the_queues_cap(queue, session):
    dead_letters(queue, session, 3)
    limit(queue, max_concurrency=1)
    assert replay_queue(queue).replayed == 3
    assert len(admitted(session, queue)) == 1


def test_a_queue_with_dead_letters_is_not_deleted_under_them(queue, session):
    [job_id] = dead_letters(queue, session, 1)
    with pytest.raises(InUse):
        services.delete_queue(queue=queue, actor=ANN)
    assert state(job_id) == "dead_letter"
