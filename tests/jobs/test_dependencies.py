"""A child waits for its parents, and then does what it was told to do about those that failed."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.conf import settings
from uuid_utils.compat import uuid7

from apps.errors import BadInput
from apps.jobs import services
from apps.jobs.models import Dependency
from tests.acts import enqueue, finish, let_days_pass, make_due, take, take_one
from tests.factories import ProjectFactory, QueueFactory
from tests.jobs.looks import ANN, come_round, fail_for_good, look, reason, row, run, state, told, told_of


def submit(queue, **fields):
    return services.submit(queue=queue, type="ping", **fields)


def settled(child) -> list[bool]:
    edges = Dependency.objects.filter(child_id=child).order_by("parent_id")
    return [edge.settled_at is not None for edge in edges]


def test_a_child_is_blocked_until_its_parent_completes(queue, session):
    parent = enqueue(queue)
    child = submit(queue, depends_on=[parent])
    assert (child.state, child.pending) == ("blocked", 1)
    assert look(parent).has_dependents
    taken = take_one(session, queue)
    assert taken.job_id == parent
    assert take(session, queue) == []
    finish(session, taken)
    assert (state(child.id), look(child.id).pending, settled(child.id)) == ("queued", 0, [True])
    assert take_one(session, queue).job_id == child.id
    assert told_of(child.id) == ["job.enqueued", "job.woken", "job.started"]


def test_a_parents_failed_attempt_is_not_its_end(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    finish(session, take_one(session, queue), outcome="retryable_error")
    assert state(child) == "blocked"
    come_round(parent)
    finish(session, take_one(session, queue))
    assert state(child) == "queued"


def test_it_waits_for_the_last_of_many(queue, session):
    parents = [enqueue(queue) for _ in range(4)]
    child = enqueue(queue, depends_on=parents)
    for left in (3, 2, 1):
        finish(session, take_one(session, queue))
        assert (look(child).pending, state(child)) == (left, "blocked")
    finish(session, take_one(session, queue))
    assert (look(child).pending, state(child)) == (0, "queued")


def test_parents_that_end_in_one_batch_wake_the_child_once(queue, session):
    parents = [enqueue(queue) for _ in range(4)]
    child = enqueue(queue, depends_on=parents)
    finish(session, *take(session, queue))
    assert state(child) == "queued"
    assert told_of(child).count("job.woken") == 1


def test_a_parent_wakes_all_its_children_and_they_are_told_as_one_fact(queue, session):
    parent = enqueue(queue)
    children = {enqueue(queue, depends_on=[parent]) for _ in range(5)}
    finish(session, take_one(session, queue))
    assert {state(child) for child in children} == {"queued"}
    [fact] = told("job.woken")
    assert set(fact.job_ids) == children


def test_a_chain_runs_link_by_link(queue, session):
    chain = [enqueue(queue)]
    for _ in range(4):
        chain.append(enqueue(queue, depends_on=[chain[-1]]))
    for link in chain:
        taken = take_one(session, queue)
        assert taken.job_id == link
        finish(session, taken)
    assert {state(link) for link in chain} == {"completed"}


def test_the_tip_of_a_diamond_runs_once_after_both_sides(queue, session):
    top = enqueue(queue)
    sides = [enqueue(queue, depends_on=[top]) for _ in range(2)]
    tip = enqueue(queue, depends_on=sides)
    finish(session, take_one(session, queue))
    finish(session, take_one(session, queue))
    assert state(tip) == "blocked"
    finish(session, take_one(session, queue))
    finish(session, take_one(session, queue))
    assert state(tip) == "completed"


def test_parents_may_wait_in_other_queues_of_the_project(queue, session):
    other = QueueFactory.create(project=queue.project)
    child = enqueue(queue, depends_on=[enqueue(other)])
    finish(session, take_one(session, other))
    assert state(child) == "queued"


def test_a_child_with_a_time_waits_for_both(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent], delay_ms=60_000)
    assert state(child) == "blocked"
    finish(session, take_one(session, queue))
    assert state(child) == "scheduled"
    come_round(child)
    assert state(child) == "queued"


def test_a_time_that_passed_while_it_was_blocked_is_no_wait(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent], delay_ms=60_000)
    make_due(child)
    finish(session, take_one(session, queue))
    assert state(child) == "queued"
    assert look(child).run_at >= look(parent).finished_at  # it has waited since then, not before


def test_a_child_that_needs_approval_asks_for_it_when_its_parents_are_done(queue, session):
    child = enqueue(queue, depends_on=[enqueue(queue)], requires_approval=True)
    finish(session, take_one(session, queue))
    assert state(child) == "awaiting_approval"


def test_a_parent_that_is_done_is_not_waited_for(queue, session):
    parent = enqueue(queue)
    finish(session, take_one(session, queue))
    child = submit(queue, depends_on=[parent])
    assert (child.state, child.pending, settled(child.id)) == ("queued", 0, [True])


def test_of_a_done_and_a_living_parent_only_the_living_is_waited_for(queue, session):
    done, living = enqueue(queue), enqueue(queue)
    finish(session, take_one(session, queue))
    child = submit(queue, depends_on=[done, living])
    assert (child.state, child.pending) == ("blocked", 1)
    finish(session, take_one(session, queue))
    assert state(child.id) == "queued"


@pytest.mark.parametrize("how", ["dead_letter", "cancelled"])
def test_a_parent_that_failed_before_dooms_a_child_at_its_birth(queue, session, how):
    parent = enqueue(queue)
    finish(session, take_one(session, queue), outcome="permanent_error" if how == "dead_letter" else "cancelled")
    assert state(parent) == how
    child = submit(queue, depends_on=[parent])
    assert (child.state, child.reason, child.is_new) == ("cancelled", "parent_failed", True)
    anyway = submit(queue, depends_on=[parent], on_parent_failure="run")
    assert (anyway.state, anyway.pending) == ("queued", 0)


def test_the_answer_to_a_batch_says_which_child_was_born_doomed(queue, session):
    parent = enqueue(queue)
    fail_for_good(session, queue, parent)
    placed = services.submit_batch(queue=queue, jobs=[{"type": "ping", "depends_on": [parent]}, {"type": "ping"}]).jobs
    assert [one.state for one in placed] == ["cancelled", "queued"]


def test_a_parent_that_ended_days_ago_is_found_on_its_day(queue, session):
    parent = enqueue(queue)
    finish(session, take_one(session, queue))
    let_days_pass(parent, 3)
    older = UUID(int=((parent.int >> 80) - 4 * 86_400_000 << 80) | parent.int & (1 << 80) - 1)
    run("UPDATE jobs_job SET id = %s WHERE id = %s", [older, parent])
    run("UPDATE jobs_attempt SET job_id = %s WHERE job_id = %s", [older, parent])
    assert submit(queue, depends_on=[older]).state == "queued"


def test_a_parent_is_found_although_the_applications_clock_was_ahead_at_midnight(queue, session):
    tomorrow = datetime.now(UTC).replace(hour=0, minute=0, second=1) + timedelta(days=1)
    parent = UUID(int=int(tomorrow.timestamp() * 1000) << 80 | uuid7().int & (1 << 80) - 1)
    enqueue(queue, id=parent)
    finish(session, take_one(session, queue))
    assert submit(queue, depends_on=[parent]).state == "queued"


def test_parents_of_another_project_do_not_exist(queue, session):
    foreign = QueueFactory.create(project=ProjectFactory.create(organization=queue.project.organization))
    living, done = enqueue(foreign), enqueue(foreign, priority=9)
    finish(session, take_one(session, foreign))
    assert state(done) == "completed"
    before = row(living)
    for parent in (living, done):
        with pytest.raises(BadInput, match=str(parent)):
            submit(queue, depends_on=[parent])
    assert row(living) == before


def test_a_parent_named_twice_is_one(queue, session):
    parent = enqueue(queue)
    child = submit(queue, depends_on=[parent, str(parent), parent])
    assert (child.pending, settled(child.id)) == (1, [False])
    finish(session, take_one(session, queue))
    assert state(child.id) == "queued"


def test_a_thousand_parents_fit_and_one_more_is_refused(queue):
    limit = settings.DEPENDENCIES_MAX
    parents = [one.job_id for one in services.submit_batch(queue=queue, jobs=[{"type": "pong"}] * limit).jobs]
    with pytest.raises(BadInput, match=f"At most {limit} parents") as refusal:
        submit(queue, depends_on=[*parents, uuid7()])
    assert [fault.pointer for fault in refusal.value.errors] == ["#/depends_on"]
    assert submit(queue, depends_on=[*parents, *parents]).pending == limit


def test_a_job_that_was_not_made_because_of_its_key_ties_nothing(queue):
    parent = enqueue(queue)
    held = submit(queue, unique_key="k")
    again = submit(queue, unique_key="k", depends_on=[parent])
    assert (again.id, again.is_new, again.state) == (held.id, False, "queued")
    assert not Dependency.objects.exists()


def test_more_children_than_one_statement_settles_are_all_woken(queue, session, monkeypatch):
    monkeypatch.setattr("apps.jobs.engine.wake_dependents.LIMIT", 3)
    parent = enqueue(queue)
    children = [enqueue(queue, depends_on=[parent]) for _ in range(10)]
    finish(session, take_one(session, queue))
    assert {state(child) for child in children} == {"queued"}


def test_more_doomed_children_than_one_statement_settles_are_all_cancelled(queue, session, monkeypatch):
    monkeypatch.setattr("apps.jobs.engine.wake_dependents.LIMIT", 3)
    parent = enqueue(queue)
    children = [enqueue(queue, depends_on=[parent]) for _ in range(7)]
    grandchildren = [enqueue(queue, depends_on=[child]) for child in children]
    fail_for_good(session, queue, parent)
    assert {(state(job_id), reason(job_id)) for job_id in (*children, *grandchildren)} == {
        ("cancelled", "parent_failed")
    }


def test_a_long_chain_falls_as_one(queue, session):
    chain = [enqueue(queue)]
    for _ in range(60):
        chain.append(enqueue(queue, depends_on=[chain[-1]]))
    services.cancel(job_id=chain[0], actor=ANN)
    assert {state(link) for link in chain} == {"cancelled"}
