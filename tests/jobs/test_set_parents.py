"""Whom a job waits for can be changed until it is started (case H29; circles: test_circles)."""

from typing import Any

import pytest
from django.conf import settings
from uuid_utils.compat import uuid7

from apps.audit.models import Entry
from apps.errors import BadInput, IllegalMove
from apps.jobs import services
from apps.jobs.engine.admit import admit
from apps.jobs.models import Dependency
from tests.acts import enqueue, finish, take, take_one
from tests.factories import ProjectFactory, QueueFactory
from tests.jobs.looks import ANN, come_round, fail_for_good, look, order, reason, row, state, told


def wait_for(job_id, *parents):
    services.set_parents(job_id=job_id, actor=ANN, depends_on=list(parents))


def parents_of(job_id):
    return set(Dependency.objects.filter(child_id=job_id).values_list("parent_id", flat=True))


def refusal_of(job_id, *parents, at="#/depends_on"):
    before, edges = row(job_id), parents_of(job_id)
    with pytest.raises(BadInput) as refusal:
        wait_for(job_id, *parents)
    assert [fault.pointer for fault in refusal.value.errors] == [at]
    assert (row(job_id), parents_of(job_id)) == (before, edges)
    return str(refusal.value)


# Where it then stands


WAITS: dict[str, dict[str, Any]] = {
    "queued": {},
    "scheduled": {"delay_ms": 3_600_000},
    "awaiting_approval": {"requires_approval": True},
}


@pytest.mark.parametrize("stands", WAITS)
def test_a_job_that_has_not_been_started_waits_for_its_new_parents_and_then_goes_on(stands, queue, session):
    parents = [enqueue(queue, priority=9) for _ in range(2)]
    job_id = enqueue(queue, **WAITS[stands])
    assert state(job_id) == stands
    wait_for(job_id, *parents)
    assert (state(job_id), look(job_id).pending, parents_of(job_id)) == ("blocked", 2, set(parents))
    assert look(parents[0]).has_dependents
    for parent in parents:
        taken = take_one(session, queue)
        assert taken.job_id == parent
        finish(session, taken)
    assert (state(job_id), look(job_id).pending) == (stands, 0)


@pytest.mark.parametrize("stands", WAITS)
def test_a_job_that_waits_for_nobody_any_more_stands_where_it_would(stands, queue):
    parent = enqueue(queue)
    job_id = enqueue(queue, depends_on=[parent], **WAITS[stands])
    wait_for(job_id)
    assert (state(job_id), look(job_id).pending, parents_of(job_id)) == (stands, 0, set())
    assert look(parent).state == "queued"


def test_parents_are_exchanged_and_those_that_stay_are_left_alone(queue, session):
    old, stays, new = (enqueue(queue) for _ in range(3))
    job_id = enqueue(queue, depends_on=[old, stays])
    finish(session, take_one(session, queue))
    assert look(job_id).pending == 1
    wait_for(job_id, new, stays, stays)
    assert (look(job_id).pending, parents_of(job_id)) == (2, {stays, new})
    finish(session, *take(session, queue, limit=2))
    assert state(job_id) == "queued"


def test_one_whose_parent_has_ended_is_set_free_when_the_others_go(queue, session):
    done, lives = enqueue(queue), enqueue(queue)
    job_id = enqueue(queue, depends_on=[done, lives])
    finish(session, take_one(session, queue))
    wait_for(job_id, done)
    assert (state(job_id), look(job_id).pending) == ("queued", 0)


def test_a_paused_job_stays_paused_and_goes_on_as_it_would(queue):
    parent, job_id = enqueue(queue), enqueue(queue)
    services.pause_job(job_id=job_id, actor=ANN)
    wait_for(job_id, parent)
    assert (look(job_id).state, look(job_id).resume_state, look(job_id).pending) == ("paused", "blocked", 1)
    services.resume_job(job_id=job_id, actor=ANN)
    assert state(job_id) == "blocked"
    services.pause_job(job_id=job_id, actor=ANN)
    wait_for(job_id)
    assert (look(job_id).state, look(job_id).resume_state) == ("paused", "queued")


def test_an_approved_job_is_not_asked_about_again(queue, session):
    job_id, parent = enqueue(queue, requires_approval=True), enqueue(queue)
    services.approve(job_id=job_id, actor=ANN)
    wait_for(job_id, parent)
    wait_for(job_id)
    assert state(job_id) == "queued"
    wait_for(job_id, parent)
    finish(session, take_one(session, queue))
    assert state(job_id) == "queued"


def test_it_keeps_its_place_in_line(queue, session):
    parent, job_id = enqueue(queue, priority=5), enqueue(queue)
    later = enqueue(queue)
    wait_for(job_id, parent)
    wait_for(job_id)
    assert order(session, queue) == [parent, job_id, later]


def test_a_job_with_a_key_comes_back_through_its_keys_gate(queue, session):
    queue.max_per_key = 1
    queue.save()
    parent, job_id, other = enqueue(queue, type="pong"), *(enqueue(queue, concurrency_key="k") for _ in range(2))
    admit(keys=[(queue.pk, "k")])
    wait_for(job_id, parent)
    assert not look(job_id).key_full
    admit(keys=[(queue.pk, "k")])
    assert take_one(session, queue).job_id == other
    wait_for(job_id)
    assert take(session, queue) == []


# Parents that have ended


def test_a_parent_that_is_done_is_not_waited_for(queue, session):
    done = enqueue(queue)
    finish(session, take_one(session, queue))
    job_id = enqueue(queue)
    wait_for(job_id, done)
    assert (state(job_id), look(job_id).pending, parents_of(job_id)) == ("queued", 0, {done})


@pytest.mark.parametrize(("rule", "then"), [(None, "cancelled"), ("cancel", "cancelled"), ("run", "queued")])
def test_a_parent_that_failed_counts_by_the_jobs_rule(rule, then, queue, session):
    dead = enqueue(queue)
    fail_for_good(session, queue, dead)
    job_id = enqueue(queue, on_parent_failure=rule)
    child = enqueue(queue, depends_on=[job_id])
    wait_for(job_id, dead)
    assert state(job_id) == then
    if then == "cancelled":
        assert (reason(job_id), state(child)) == ("parent_failed", "cancelled")
    [entry] = Entry.objects.filter(action="job.depends_on")
    assert entry.after
    assert entry.after["state"] == then


# Refused


def test_parents_of_another_queue_may_be_but_not_of_another_project(queue):
    sibling = enqueue(QueueFactory.create(project=queue.project))
    foreign = [enqueue(QueueFactory.create(project=ProjectFactory.create(organization=queue.project.organization)))]
    foreign += [enqueue(QueueFactory.create()), uuid7()]
    job_id = enqueue(queue)
    wait_for(job_id, sibling)
    assert parents_of(job_id) == {sibling}
    for other in foreign:
        assert f"There is no job {other}." in refusal_of(job_id, sibling, other, at="#/depends_on/1")


def test_no_more_than_a_thousand(queue):
    job_id = enqueue(queue)
    many = [uuid7() for _ in range(settings.DEPENDENCIES_MAX + 1)]
    assert "1001" in refusal_of(job_id, *many)
    twice = [enqueue(queue)] * 1500
    wait_for(job_id, *twice)
    assert look(job_id).pending == 1


@pytest.mark.parametrize("given", ["x", None, 5, ["x"], [1], {"a": 1}])
def test_what_is_no_list_of_jobs_is_refused(given, queue):
    with pytest.raises(BadInput) as refusal:
        services.set_parents(job_id=enqueue(queue), actor=ANN, depends_on=given)
    place = "#/depends_on/0" if isinstance(given, list) else "#/depends_on"
    assert [fault.pointer for fault in refusal.value.errors] == [place]


STARTED = ["running", "retry_wait", "retried", "asked", "completed", "dead_letter", "cancelled", "paused retry"]


@pytest.mark.parametrize("how", STARTED)
def test_one_that_was_started_or_has_ended_is_refused_by_its_state(how, queue, session):
    job_id, parent = enqueue(queue, priority=1), enqueue(queue)
    taken = take_one(session, queue)
    outcomes = {
        "completed": "success",
        "dead_letter": "permanent_error",
        "asked": "needs_approval",
        "cancelled": "cancelled",
    }
    if how != "running":
        finish(session, taken, outcome=outcomes.get(how, "retryable_error"))
    if how == "retried":
        come_round(job_id)
    if how == "paused retry":
        services.pause_job(job_id=job_id, actor=ANN)
    before = row(job_id)
    with pytest.raises(IllegalMove, match=before["state"]):
        wait_for(job_id, parent)
    assert (row(job_id), parents_of(job_id)) == (before, set())


def test_it_is_written_down_and_told(queue):
    old, new = enqueue(queue), enqueue(queue)
    job_id = enqueue(queue, depends_on=[old])
    wait_for(job_id, new)
    [entry] = Entry.objects.filter(target_id=str(job_id))
    assert entry.action == "job.depends_on"
    assert entry.before == {"depends_on": [str(old)], "state": "blocked"}
    assert entry.after == {"depends_on": [str(new)], "state": "blocked"}
    [fact] = told("job.parents_changed")
    assert (fact.job_ids, fact.state, fact.data) == ([job_id], "blocked", {"pending": 1})
