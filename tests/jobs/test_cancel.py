"""Cancel: what waits ends at once, what runs is asked to stop and never runs again, what has ended stays."""

import pytest
from uuid_utils.compat import uuid7

from apps.errors import IllegalMove, NotFound
from apps.jobs import services
from tests.acts import enqueue, finish, take, take_one
from tests.jobs.looks import ANN, come_round, ledger, look, reason, row, state, told, told_of


def cancel(job_id, **how):
    return services.cancel(job_id=job_id, actor=ANN, **how)


def make(queue, session, *, state: str):
    """A job in one of the states in which it waits."""
    match state:
        case "queued":
            return enqueue(queue)
        case "scheduled":
            return enqueue(queue, delay_ms=60_000)
        case "awaiting_approval":
            return enqueue(queue, requires_approval=True)
        case "blocked":
            return enqueue(queue, depends_on=[enqueue(queue, delay_ms=60_000)])
    job_id = enqueue(queue)
    finish(session, take_one(session, queue), outcome="retryable_error")
    return job_id


WAITING = ["queued", "scheduled", "awaiting_approval", "blocked", "retry_wait"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("waits", WAITING)
def test_what_waits_is_cancelled_at_once(queue, session, waits, force):
    job_id = make(queue, session, state=waits)
    assert state(job_id) == waits
    done = cancel(job_id, force=force)
    assert (done.state, done.cancelling) == ("cancelled", False)
    job = look(job_id)
    assert (job.state, job.reason) == ("cancelled", "cancelled")
    assert job.shelved_on == job.finished_at.date()
    come_round(job_id)
    assert take(session, queue) == []


@pytest.mark.parametrize("waits", WAITING)
def test_everything_else_about_it_stays(queue, session, waits):
    job_id = make(queue, session, state=waits)
    before = row(job_id)
    cancel(job_id)
    after = row(job_id)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"state", "reason", "finished_at", "shelved_on"}


def test_it_is_told_with_the_reason(queue):
    job_id = enqueue(queue)
    cancel(job_id)
    [fact] = told("job.cancelled")
    assert (fact.job_ids, fact.state, fact.data) == ([job_id], "cancelled", {"reason": "cancelled"})


def test_what_runs_is_asked_to_stop_and_the_answer_says_so(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    done = cancel(job_id)
    assert (done.state, done.cancelling) == ("running", True)
    job = look(job_id)
    assert (job.state, job.fence, job.session_id) == ("running", taken.fence, session.id)
    assert job.cancel_requested_at is not None
    [fact] = told("job.cancel_requested")
    assert (fact.job_ids, fact.attempts) == ([job_id], [1])


def test_asking_twice_is_asking_once(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    cancel(job_id)
    first = look(job_id).cancel_requested_at
    assert cancel(job_id).cancelling
    assert look(job_id).cancel_requested_at == first
    assert len(told("job.cancel_requested")) == 1


@pytest.mark.parametrize(
    "outcome", ["success", "retryable_error", "permanent_error", "snoozed", "released", "lost", "cancelled"]
)
def test_however_it_then_ends_it_never_runs_again(queue, session, outcome):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    cancel(job_id)
    finish(session, taken, outcome=outcome)
    assert (state(job_id), reason(job_id)) == ("cancelled", "cancelled")
    assert take(session, queue) == []
    assert len(ledger(job_id)) == 1


def test_by_force_a_running_job_ends_now_and_its_worker_is_fenced(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    done = cancel(job_id, force=True)
    assert (done.state, done.cancelling) == ("cancelled", False)
    assert (state(job_id), reason(job_id)) == ("cancelled", "cancelled")
    [entry] = ledger(job_id)
    assert (entry.outcome, entry.fence, entry.error_message) == ("cancelled", taken.fence, "Cancelled by force.")
    assert finish(session, taken) == []
    assert told_of(job_id)[-1] == "job.cancelled"


def test_force_after_a_request_ends_it_too(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    cancel(job_id)
    assert cancel(job_id, force=True).state == "cancelled"
    assert state(job_id) == "cancelled"


def test_by_force_it_frees_the_workers_slot(queue, session):
    session.concurrency = 1
    session.save()
    job_id, other = enqueue(queue), enqueue(queue)
    take_one(session, queue)
    cancel(job_id, force=True)
    assert take_one(session, queue).job_id == other


@pytest.mark.parametrize("outcome", ["success", "permanent_error", "cancelled"])
@pytest.mark.parametrize("force", [False, True])
def test_what_has_ended_stays_as_it_ended_and_the_refusal_names_it(queue, session, outcome, force):
    job_id = enqueue(queue)
    finish(session, take_one(session, queue), outcome=outcome)
    before = row(job_id)
    with pytest.raises(IllegalMove, match=before["state"]):
        cancel(job_id, force=force)
    assert row(job_id) == before


def test_a_job_nobody_knows_is_not_found(db):
    with pytest.raises(NotFound):
        cancel(uuid7())


def test_the_children_of_a_cancelled_job_follow_their_policy_at_once(queue, session):
    for force in (False, True):
        parent = enqueue(queue)
        doomed = enqueue(queue, depends_on=[parent])
        grandchild = enqueue(queue, depends_on=[doomed])
        anyway = enqueue(queue, type="pong", depends_on=[parent], on_parent_failure="run")
        if force:
            take_one(session, queue)
        cancel(parent, force=force)
        assert [state(child) for child in (doomed, grandchild, anyway)] == ["cancelled", "cancelled", "queued"]
        assert reason(grandchild) == "parent_failed"


def test_a_cancelled_child_no_longer_waits_for_anybody(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    cancel(child)
    finish(session, take_one(session, queue))
    assert (state(parent), state(child)) == ("completed", "cancelled")
