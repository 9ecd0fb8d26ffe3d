"""Concurrency keys: of each no more at once than its queue allows, the most urgent first, and nobody behind them waits."""

import pytest

from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.engine.admit import START, admit, admit_due
from apps.jobs.engine.promote import promote
from apps.jobs.engine.rerank import rerank
from apps.queues.models import Queue
from apps.queues.services import queues
from tests.acts import enqueue, finish, make_due, take, take_one
from tests.jobs.looks import ANN, look, run


@pytest.fixture
def queue(queue):
    """One job of a key at once."""
    Queue.objects.update(max_per_key=1)
    return queue


def keyed(queue, count=1, *, key="k", **fields):
    """So many jobs of a key, let through as far as may be."""
    made = [enqueue(queue, concurrency_key=key, **fields) for _ in range(count)]
    admit(keys=[(queue.pk, key)])
    return made


def through(queue):
    """What may be claimed, in order."""
    found = run("SELECT id FROM jobs_job_live WHERE state = 'queued' AND NOT key_full ORDER BY rank, id")
    return [one for (one,) in found]


def due():
    walked = admit_due(queue_id=START[0], key=START[1], limit=100)
    return [one.key for one in walked if one.due]


def test_jobs_of_a_key_run_one_after_the_other_in_their_order(queue, session):
    made = keyed(queue, 3)
    ran = []
    for _ in made:
        [claim] = take(session, queue)
        ran.append(claim.job_id)
        assert claim.concurrency_key == "k"
        assert take(session, queue) == []
        finish(session, claim)
        admit(keys=[(queue.pk, "k")])
    assert ran == made


def test_nobody_waits_behind_a_key_that_is_full(queue, session):
    keyed(queue, 200)
    others = keyed(queue, key="other") + [enqueue(queue)]
    claimed = {claim.job_id for claim in take(session, queue)}
    assert claimed > set(others)
    assert len(claimed) == 3


def test_as_many_as_the_queue_allows_are_let_through(queue, session):
    Queue.objects.update(max_per_key=3)
    made = keyed(queue, 5)
    assert through(queue) == made[:3]
    claimed = take(session, queue)
    finish(session, *claimed[:2])
    admit(keys=[(queue.pk, "k")])
    assert through(queue) == made[3:]


def test_without_a_limit_a_key_holds_nobody_back(queue):
    Queue.objects.update(max_per_key=None)
    made = keyed(queue, 5)
    assert through(queue) == made


def test_keys_of_two_queues_are_two_keys(queue, project):
    other = Queue.objects.create(project=project, name="other", max_per_key=1)
    one, two = keyed(queue)[0], keyed(other)[0]
    assert set(through(queue)) == {one, two}


def test_one_that_may_be_claimed_gives_way_to_a_more_urgent_one(queue, session):
    [slow] = keyed(queue)
    [urgent] = keyed(queue, priority=10)
    assert through(queue) == [urgent]
    finish(session, take_one(session, queue))
    admit(keys=[(queue.pk, "k")])
    assert through(queue) == [slow]


def test_one_that_runs_does_not(queue, session):
    keyed(queue)
    take_one(session, queue)
    keyed(queue, priority=10)
    assert through(queue) == []


def test_a_failed_one_frees_its_place_and_waits_for_one_again(queue, session):
    first, second = keyed(queue, 2)
    finish(session, take_one(session, queue), outcome="retryable_error")
    admit(keys=[(queue.pk, "k")])
    assert through(queue) == [second]
    make_due(first)
    [promoted] = promote(limit=10)
    assert promoted.keys == ["k"]
    admit(keys=[(queue.pk, "k")])
    assert look(first).state == "queued"
    assert through(queue) == [second]  # a retry stands where its time puts it
    assert look(first).attempt == 1


def test_one_that_is_handed_back_keeps_its_place(queue, session):
    first, _ = keyed(queue, 2)
    finish(session, take_one(session, queue), outcome="released")
    admit(keys=[(queue.pk, "k")])
    assert through(queue) == [first]


def _promote(job):
    make_due(job)
    promote(limit=10)


def _resume(job):
    services.pause_job(job_id=job, actor=ANN)
    make_due(job)
    services.resume_job(job_id=job, actor=ANN)


WAYS = {
    "promoted": _promote,
    "retried": lambda job: services.retry_now(job_id=job, actor=ANN),
    "resumed": _resume,
    "rescheduled": lambda job: services.reschedule(job_id=job, actor=ANN),
    "run next": lambda job: services.run_next(job_id=job, actor=ANN),
}


@pytest.mark.parametrize("way", WAYS)
def test_whoever_comes_into_the_line_waits_to_be_let_through(queue, way):
    """The guard of the test database refuses one that does not; the loop finds it."""
    job = enqueue(queue, concurrency_key="k", delay_ms=3_600_000)
    WAYS[way](job)
    assert (look(job).state, through(queue), due()) == ("queued", [], ["k"])
    admit(keys=[(queue.pk, "k")])
    assert (through(queue), due()) == ([job], [])


def test_a_child_that_is_woken_and_a_dead_one_that_is_replayed_wait_too(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, concurrency_key="k", depends_on=[parent])
    finish(session, take_one(session, queue))
    assert (look(child).state, due()) == ("queued", ["k"])
    admit(keys=[(queue.pk, "k")])
    finish(session, take_one(session, queue), outcome="permanent_error")
    services.replay(job_id=child, actor=ANN)
    assert (look(child).state, through(queue), due()) == ("queued", [], ["k"])


def test_the_loop_finds_a_place_that_was_left_without_a_word(queue):
    first, second = keyed(queue, 2)
    keyed(queue, 2, key="full")
    assert due() == []
    services.cancel(job_id=first, actor=ANN)
    assert due() == ["k"]
    admit(keys=[(queue.pk, "k")])
    assert second in through(queue)


def test_the_loop_finds_one_that_was_made_more_urgent(queue):
    first, second = keyed(queue, 2)
    assert due() == []
    services.set_priority(job_id=second, actor=ANN, priority=5)
    assert due() == ["k"]
    admit(keys=[(queue.pk, "k")])
    assert through(queue) == [second]
    assert look(first).key_full


def test_a_limit_that_is_set_or_changed_counts_what_waits_anew(queue, session):
    Queue.objects.update(max_per_key=None)
    made = keyed(queue, 4)
    assert through(queue) == made
    for most in (1, 3, 2):
        queues.update(queue=queue, actor=SYSTEM, max_per_key=most)
        assert Queue.objects.get().rerank_after
        rerank(queues=[queue.pk])
        assert through(queue) == []
        admit(keys=[(queue.pk, "k")])
        assert through(queue) == made[:most]
    queues.update(queue=queue, actor=SYSTEM, max_per_key=None)
    assert due() == ["k"]
    admit(keys=[(queue.pk, "k")])
    assert through(queue) == made


def test_what_is_held_up_by_its_key_counts_as_deep(queue):
    from apps.jobs.engine.depth import depth

    keyed(queue, 5)
    depth(every_ms=0)
    assert run("SELECT queued FROM queues_depth") == [(5,)]


def test_a_walk_over_keys_goes_on_where_it_ended(queue):
    for number in range(5):
        enqueue(queue, concurrency_key=f"key-{number}")
    found, at = [], START
    while walked := admit_due(queue_id=at[0], key=at[1], limit=2):
        found += [one.key for one in walked]
        at = walked[-1].queue_id, walked[-1].key
    assert found == [f"key-{number}" for number in range(5)]
