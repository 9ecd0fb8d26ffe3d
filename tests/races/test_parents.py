"""A parent's end and a child's arrival may cross: the child is woken exactly once, whoever comes first."""

import pytest
from uuid_utils.compat import uuid7

from apps.errors import NotReplayable
from apps.jobs import services
from apps.jobs.models import Dependency
from tests.acts import enqueue, finish, take, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, fail_for_good, look, reason, state, told, told_of
from tests.races.stage import meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")

ENDS = {
    "success": ("completed", "queued"),
    "permanent_error": ("dead_letter", "cancelled"),
    "cancelled": ("cancelled", "cancelled"),
}


@pytest.mark.parametrize("outcome", ENDS)
def test_a_parent_that_ends_while_its_first_child_arrives_waits_and_settles_it(queue, session, outcome):
    parent = enqueue(queue)
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken, outcome=outcome)):
        child = enqueue(queue, depends_on=[parent])
        assert state(child) == "blocked"
    assert (state(parent), state(child)) == ENDS[outcome]


@pytest.mark.parametrize("outcome", ENDS)
def test_a_child_that_arrives_while_its_parent_ends_waits_and_finds_it_ended(queue, session, outcome):
    parent = enqueue(queue)
    taken = take_one(session, queue)
    with meanwhile(lambda: enqueue(queue, depends_on=[parent])) as arrived:
        finish(session, taken, outcome=outcome)
    child = arrived.result()
    assert (state(parent), state(child)) == ENDS[outcome]
    assert look(child).pending == 0 or reason(child) == "parent_failed"
    assert Dependency.objects.get(child_id=child).settled_at is not None


def test_a_child_that_arrives_while_its_parent_fails_an_attempt_goes_on_waiting(queue, session):
    parent = enqueue(queue)
    taken = take_one(session, queue)
    with meanwhile(lambda: enqueue(queue, depends_on=[parent])) as arrived:
        finish(session, taken, outcome="retryable_error")
    assert (state(parent), state(arrived.result())) == ("retry_wait", "blocked")


@pytest.mark.parametrize("ends", [lambda job_id: services.cancel(job_id=job_id, actor=ANN)])
def test_a_waiting_parent_that_is_cancelled_while_its_child_arrives_takes_it_along(queue, ends):
    parent = enqueue(queue)
    with meanwhile(lambda: ends(parent)):
        child = enqueue(queue, depends_on=[parent])
    assert (state(child), reason(child)) == ("cancelled", "parent_failed")


def test_the_last_two_parents_that_end_together_wake_the_child_once(queue, session):
    parents = [enqueue(queue), enqueue(queue)]
    child = enqueue(queue, type="pong", depends_on=parents)
    first, second = take(session, queue)
    with meanwhile(lambda: finish(session, second)):
        finish(session, first)
        assert (state(child), look(child).pending) == ("blocked", 1)
    assert (state(child), look(child).pending) == ("queued", 0)
    assert told_of(child).count("job.woken") == 1


@pytest.mark.parametrize(("policy", "expected"), [("cancel", "cancelled"), ("run", "queued")])
def test_one_succeeds_and_one_fails_together(queue, session, policy, expected):
    parents = [enqueue(queue), enqueue(queue)]
    child = enqueue(queue, type="pong", depends_on=parents, on_parent_failure=policy)
    first, second = take(session, queue)
    with meanwhile(lambda: finish(session, second, outcome="permanent_error")):
        finish(session, first)
    assert state(child) == expected


def test_two_failures_together_cancel_the_child_once(queue, session):
    parents = [enqueue(queue), enqueue(queue)]
    child = enqueue(queue, type="pong", depends_on=parents)
    first, second = take(session, queue)
    with meanwhile(lambda: finish(session, second, outcome="permanent_error")):
        finish(session, first, outcome="permanent_error")
    assert (state(child), reason(child)) == ("cancelled", "parent_failed")
    assert told_of(child).count("job.cancelled") == 1


def test_forty_parents_of_twenty_children_that_end_in_two_hands_wake_each_once(queue):
    sessions = SessionFactory.create_batch(2, concurrency=20)
    parents = [one.job_id for one in services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 40).jobs]
    children = [
        enqueue(queue, type="pong", depends_on=[parents[n], parents[39 - n], parents[(n + 7) % 40]]) for n in range(20)
    ]
    hands = [take(session, queue, limit=20) for session in sessions]
    together(
        *(
            lambda s=s, hand=hand: [finish(s, *hand[n : n + 2]) for n in range(0, 20, 2)]
            for s, hand in zip(sessions, hands, strict=True)
        )
    )
    assert {state(child) for child in children} == {"queued"}
    woken = [job_id for fact in told("job.woken") for job_id in fact.job_ids]
    assert sorted(woken) == sorted(children)


def test_a_cancel_of_a_child_that_meets_the_end_of_its_parent(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, type="pong", depends_on=[parent])
    taken = take_one(session, queue)
    with meanwhile(lambda: services.cancel(job_id=child, actor=ANN)) as cancelled:
        finish(session, taken)
    assert cancelled.result().state == "cancelled" == state(child)
    other = enqueue(queue)
    child = enqueue(queue, type="pong", depends_on=[other])
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken)):
        services.cancel(job_id=child, actor=ANN)
    assert (state(other), state(child)) == ("completed", "cancelled")


def test_children_that_name_the_same_parents_in_any_order_never_deadlock(queue):
    parents = [enqueue(queue, type="pong") for _ in range(10)]

    def arrive(order):
        return [enqueue(queue, depends_on=order) for _ in range(10)]

    children = together(lambda: arrive(parents), lambda: arrive(parents[::-1]))
    assert {look(child).pending for part in children for child in part} == {10}


def test_a_child_holds_its_parents_in_their_order_not_in_its_own(queue):
    first, second = sorted(enqueue(queue) for _ in range(2))
    with meanwhile(lambda: enqueue(queue, depends_on=[second, first])) as arrived:
        services.cancel(job_id=first, actor=ANN)
        arrived.meet()
        services.cancel(job_id=second, actor=ANN)  # the child waits for the first and does not hold the second yet
    assert reason(arrived.result()) == "parent_failed"


def test_a_parents_end_takes_its_children_in_their_order(queue, session):
    parent = enqueue(queue)
    ids = sorted(uuid7() for _ in range(2))
    for child in reversed(ids):
        enqueue(queue, id=child, type="pong", depends_on=[parent])
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken)) as finished:
        services.cancel(job_id=ids[0], actor=ANN)
        finished.meet()
        services.cancel(job_id=ids[1], actor=ANN)
    assert [done.state for done in finished.result()] == ["completed"]
    assert {state(child) for child in ids} == {"cancelled"}


def test_another_parent_that_ends_while_a_child_is_revived_still_counts(queue, session):
    parent, other = enqueue(queue), enqueue(queue)
    child = enqueue(queue, type="pong", depends_on=[parent, other])
    fail_for_good(session, queue, parent)
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken)):
        services.replay(job_id=parent, actor=ANN, revive_descendants=True)
        assert look(child).pending == 2
    assert (state(child), look(child).pending) == ("blocked", 1)


def test_a_child_is_revived_while_its_other_parent_ends(queue, session):
    parent, other = enqueue(queue), enqueue(queue)
    child = enqueue(queue, type="pong", depends_on=[parent, other])
    fail_for_good(session, queue, parent)
    taken = take_one(session, queue)
    with meanwhile(lambda: services.replay(job_id=parent, actor=ANN, revive_descendants=True)) as revived:
        finish(session, taken)
    assert revived.exception() is None
    assert (state(child), look(child).pending) == ("blocked", 1)
    finish(session, take_one(session, queue))
    assert state(child) == "queued"


@pytest.mark.parametrize("then", ["commit", "undo"])
def test_a_child_that_arrives_while_its_dead_parent_is_replayed_finds_what_became_of_it(queue, session, then):
    parent = enqueue(queue)
    fail_for_good(session, queue, parent)
    with meanwhile(lambda: enqueue(queue, depends_on=[parent]), then=then) as arrived:
        services.replay(job_id=parent, actor=ANN)
    expected = ("queued", "blocked") if then == "commit" else ("dead_letter", "cancelled")
    assert (state(parent), state(arrived.result())) == expected


def test_a_child_that_arrives_while_its_cancelled_parent_is_revived_waits_for_it(queue, session):
    parent = enqueue(queue)
    middle = enqueue(queue, depends_on=[parent])
    fail_for_good(session, queue, parent)
    with meanwhile(lambda: enqueue(queue, depends_on=[middle])) as arrived:
        services.replay(job_id=parent, actor=ANN, revive_descendants=True)
    assert (state(middle), state(arrived.result())) == ("blocked", "blocked")


def test_a_replay_that_meets_a_child_that_is_born_doomed_does_not_leave_it_behind(queue, session):
    parent = enqueue(queue)
    fail_for_good(session, queue, parent)
    with meanwhile(lambda: services.replay(job_id=parent, actor=ANN)) as replayed:
        child = enqueue(queue, depends_on=[parent])
    with pytest.raises(NotReplayable, match=str(child)):
        replayed.result()
