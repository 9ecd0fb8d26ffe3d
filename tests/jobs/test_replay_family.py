"""Replaying a parent: its cancelled descendants are not left behind in silence, and none waits for the wrong ones."""

import pytest

from apps.bench.services.invariants import broken
from apps.errors import IllegalMove, KeyTaken, NotReplayable
from apps.jobs import services
from apps.jobs.engine.replay import replay as engine_replay
from tests.acts import enqueue, finish, take_one
from tests.jobs.looks import ANN, fail_for_good, look, reason, row, run, state, told
from tests.jobs.workflows import begin, standing, states, step, work


def replay(job_id, **how):
    services.replay(job_id=job_id, actor=ANN, **how)


def revive(job_id):
    replay(job_id, revive_descendants=True)


def complete(session, queue, *jobs):
    """Each of them is next, and completes."""
    for job_id in jobs:
        taken = take_one(session, queue)
        assert taken.job_id == job_id
        finish(session, taken)


@pytest.fixture
def chain(queue, session):
    """Three jobs in a row, the first of them dead, the others cancelled with it."""
    first = enqueue(queue)
    second = enqueue(queue, depends_on=[first])
    third = enqueue(queue, depends_on=[second])
    fail_for_good(session, queue, first)
    return first, second, third


def test_it_is_refused_while_descendants_would_be_left_behind_and_names_them_all(chain):
    first, second, third = chain
    before = row(first)
    with pytest.raises(NotReplayable) as refusal:
        replay(first)
    assert refusal.value.extra == {"descendants": sorted([str(second), str(third)])}
    assert row(first) == before


def test_asked_to_it_revives_them_and_they_wait_again(chain):
    revive(chain[0])
    assert [state(job_id) for job_id in chain] == ["queued", "blocked", "blocked"]
    assert [look(job_id).pending for job_id in chain] == [0, 1, 1]
    assert [look(job_id).generation for job_id in chain] == [2, 2, 2]
    assert {look(job_id).reason for job_id in chain} == {None}
    [fact] = told("job.revived")
    assert set(fact.job_ids) == set(chain[1:])


def test_they_then_run_in_their_order(queue, session, chain):
    revive(chain[0])
    complete(session, queue, *chain)
    assert {state(job_id) for job_id in chain} == {"completed"}


def test_if_it_dies_again_they_fall_with_it_again_and_can_be_revived_again(queue, session, chain):
    for generation in (2, 3):
        revive(chain[0])
        assert look(chain[2]).generation == generation
        fail_for_good(session, queue, chain[0])
        assert [reason(job_id) for job_id in chain[1:]] == ["parent_failed"] * 2
    revive(chain[0])
    complete(session, queue, *chain)


def test_a_child_somebody_cancelled_is_nobodys_to_revive(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    services.cancel(job_id=child, actor=ANN)
    fail_for_good(session, queue, parent)
    replay(parent)
    assert (state(child), reason(child)) == ("cancelled", "cancelled")


def test_a_child_that_ran_anyway_is_not_run_again(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent], on_parent_failure="run")
    fail_for_good(session, queue, parent)
    complete(session, queue, child)
    replay(parent)
    complete(session, queue, parent)
    assert (state(child), look(child).generation) == ("completed", 1)


def test_a_child_that_is_still_blocked_waits_for_it_again(queue, session):
    parent, other = enqueue(queue), enqueue(queue)
    child = enqueue(queue, depends_on=[parent, other], on_parent_failure="run")
    fail_for_good(session, queue, parent)
    assert (state(child), look(child).pending) == ("blocked", 1)
    replay(parent)
    assert (state(child), look(child).pending) == ("blocked", 2)
    complete(session, queue, other)
    assert state(child) == "blocked"
    complete(session, queue, parent)
    assert state(child) == "queued"


def test_a_revived_child_waits_for_its_other_parent_too(queue, session):
    parent, other = enqueue(queue), enqueue(queue, delay_ms=3_600_000)
    child = enqueue(queue, depends_on=[parent, other])
    fail_for_good(session, queue, parent)
    assert state(child) == "cancelled"
    revive(parent)
    assert (state(child), look(child).pending) == ("blocked", 2)
    services.retry_now(job_id=other, actor=ANN)
    complete(session, queue, parent, other)
    assert state(child) == "queued"


def test_the_other_parent_does_not_set_it_free_alone(queue, session):
    parent, other = enqueue(queue), enqueue(queue)
    child = enqueue(queue, depends_on=[parent, other])
    fail_for_good(session, queue, parent)
    revive(parent)
    complete(session, queue, other)
    assert (state(child), look(child).pending) == ("blocked", 1)


def test_a_parent_that_completed_meanwhile_is_not_waited_for(queue, session):
    parent, other = enqueue(queue), enqueue(queue)
    child = enqueue(queue, depends_on=[parent, other])
    fail_for_good(session, queue, parent)
    complete(session, queue, other)
    revive(parent)
    assert look(child).pending == 1
    complete(session, queue, parent)
    assert state(child) == "queued"


def test_a_child_of_two_dead_parents_comes_back_with_the_last_of_them(queue, session):
    first, second = enqueue(queue), enqueue(queue)
    child = enqueue(queue, depends_on=[first, second])
    grandchild = enqueue(queue, depends_on=[child])
    fail_for_good(session, queue, first)
    fail_for_good(session, queue, second)
    replay(first)  # the second one dooms the child all the same: nothing is left behind by this one
    assert [state(job_id) for job_id in (child, grandchild)] == ["cancelled", "cancelled"]
    with pytest.raises(NotReplayable):
        replay(second)
    revive(second)
    assert [look(job_id).pending for job_id in (child, grandchild)] == [2, 1]
    complete(session, queue, first, second, child, grandchild)


def test_two_dead_parents_replayed_together_leave_none_behind(queue, session):
    first, second = enqueue(queue), enqueue(queue)
    child = enqueue(queue, depends_on=[first, second])
    fail_for_good(session, queue, first)
    fail_for_good(session, queue, second)
    engine_replay(delays_ms={first: 0, second: 0}, revive_descendants=True)
    assert (state(child), look(child).pending) == ("blocked", 2)
    complete(session, queue, first, second, child)


def test_a_diamond_comes_back_whole(queue, session):
    top = enqueue(queue)
    sides = [enqueue(queue, depends_on=[top]) for _ in range(2)]
    tip = enqueue(queue, depends_on=[*sides, top])
    fail_for_good(session, queue, top)
    revive(top)
    assert look(tip).pending == 3
    complete(session, queue, top, *sides, tip)


def test_who_waits_for_a_revived_child_waits_for_it_again(queue, session):
    parent, other = enqueue(queue), enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    patient = enqueue(queue, depends_on=[child, other], on_parent_failure="run")
    fail_for_good(session, queue, parent)
    assert look(patient).pending == 1
    revive(parent)
    assert look(patient).pending == 2
    complete(session, queue, other, parent, child, patient)


def test_a_revived_childs_key_may_have_been_taken(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent], unique_key="k")
    fail_for_good(session, queue, parent)
    holder = enqueue(queue, type="pong", unique_key="k")
    before = row(parent), row(child)
    with pytest.raises(KeyTaken, match=str(holder)):
        revive(parent)
    assert (row(parent), row(child)) == before


def test_pruned_descendants_cannot_be_revived(queue, session, chain):
    run("SET LOCAL fencepost.guard = 'off'")
    run("DELETE FROM jobs_job WHERE id = %s", [chain[2]])
    for how in ({}, {"revive_descendants": True}):
        with pytest.raises(NotReplayable, match=str(chain[2])):
            replay(chain[0], **how)
    assert [state(job_id) for job_id in chain[:2]] == ["dead_letter", "cancelled"]


def test_a_long_chain_is_revived_in_one_go(queue, session):
    chain = [enqueue(queue)]
    for _ in range(50):
        chain.append(enqueue(queue, depends_on=[chain[-1]]))
    fail_for_good(session, queue, chain[0])
    revive(chain[0])
    complete(session, queue, *chain)


# Descendants in workflows that the dead letter is not of.


@pytest.fixture
def film(queue, session):
    """A workflow one of whose jobs was cancelled because a job outside, the dead letter, failed."""
    dead = enqueue(queue)
    film = begin(queue, {"doomed": [str(dead)], "after": ["doomed"], "free": []})
    fail_for_good(session, queue, dead)
    assert states(film) == {"doomed": "cancelled", "after": "cancelled", "free": "queued"}
    return dead, film


def test_into_a_cancelled_workflow_nothing_comes_back(film):
    dead, flow = film
    services.cancel_workflow(workflow=flow, actor=ANN)
    with pytest.raises(IllegalMove, match=f"{flow.pk} was cancelled"):
        revive(dead)
    assert (state(dead), standing(flow)) == ("dead_letter", "cancelled")


def test_what_comes_back_into_a_paused_workflow_waits_for_its_resume(film, queue, session):
    dead, flow = film
    services.pause_workflow(workflow=flow, actor=ANN)
    revive(dead)
    assert (state(dead), set(states(flow).values())) == ("queued", {"paused"})
    services.resume_workflow(workflow=flow, actor=ANN)
    assert states(flow) == {"doomed": "blocked", "after": "blocked", "free": "queued"}
    work(session, queue)
    assert set(states(flow).values()) == {"completed"}


@pytest.fixture
def pair(queue, session):
    """Two workflows: a job of the second was cancelled because one of the first failed."""
    first = begin(queue, {"dead": []})
    second = begin(queue, {"doomed": [str(step(first, "dead"))], "free": []})
    assert work(session, queue, only=1, fail=["dead"]) == ["dead"]
    return first, second


def test_a_retry_of_one_workflow_brings_nothing_back_into_another_that_was_cancelled(pair):
    first, second = pair
    services.cancel_workflow(workflow=second, actor=ANN)
    with pytest.raises(IllegalMove, match=f"{second.pk} was cancelled"):
        services.retry_workflow(workflow=first, actor=ANN)
    assert states(first) == {"dead": "dead_letter"}


def test_a_retry_of_one_workflow_leaves_another_paused(pair):
    first, second = pair
    services.pause_workflow(workflow=second, actor=ANN)
    services.retry_workflow(workflow=first, actor=ANN)
    assert (states(first), set(states(second).values())) == ({"dead": "queued"}, {"paused"})


def test_children_that_were_made_while_it_was_dead_are_waked_by_its_next_end(queue, session):
    """They run whether it fails or not, so nothing of theirs was left behind."""
    dead, other = enqueue(queue), enqueue(queue)
    fail_for_good(session, queue, dead)
    child = enqueue(queue, depends_on=[dead, other], on_parent_failure="run")
    replay(dead)
    assert broken() == []
    complete(session, queue, other, dead)
    assert state(child) == "queued"


def test_and_those_that_were_made_while_a_descendant_was_cancelled_by_its_end(queue, session, chain):
    other = enqueue(queue)
    child = enqueue(queue, depends_on=[chain[2], other], on_parent_failure="run")
    revive(chain[0])
    assert broken() == []
    complete(session, queue, other, *chain)
    assert state(child) == "queued"
