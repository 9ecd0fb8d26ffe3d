"""Jobs that wait for a person: submitted so, or because their handler asks; approved, rejected, run again from the start."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from apps.audit.models import Entry
from apps.errors import BadInput, IllegalMove
from apps.jobs import services
from apps.jobs.engine.admit import admit
from apps.jobs.engine.pause import pause
from apps.jobs.selectors.why import why_waiting
from tests.acts import enqueue, finish, pass_deadline, take, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, come_round, ledger, look, order, reason, row, run, state, told, told_of

ASKING = {"outcome": "needs_approval", "error_class": "NeedsApproval", "error_message": "Please look."}


def approve(job_id, note=""):
    services.approve(job_id=job_id, actor=ANN, note=note)


def reject(job_id, note=""):
    services.reject(job_id=job_id, actor=ANN, note=note)


def asking(queue, session, result='{"draft": 1}', **fields):
    """A job whose handler has asked."""
    job_id = enqueue(queue, **fields)
    finish(session, take_one(session, queue), result=result, **ASKING)
    return job_id


# Submitted to be approved


@pytest.mark.parametrize("way", ["one", "batch"])
def test_a_job_that_requires_approval_is_not_handed_out_before_it_has_it(way, queue, session):
    if way == "one":
        job = services.submit(queue=queue, type="ping", requires_approval=True)
        assert (job.state, job.requires_approval) == ("awaiting_approval", True)
        job_id = job.pk
    else:
        fields = {"type": "ping", "requires_approval": True}
        job_id = services.submit_batch(queue=queue, jobs=[fields, {"type": "pong"}]).jobs[0].job_id
    assert state(job_id) == "awaiting_approval"
    assert take(session, queue) == []
    approve(job_id)
    assert take_one(session, queue).job_id == job_id


@pytest.mark.parametrize("given", ["yes", 1, [], {}])
def test_requires_approval_is_true_or_false(given, queue):
    with pytest.raises(BadInput) as refusal:
        services.submit(queue=queue, type="ping", requires_approval=given)
    assert [fault.pointer for fault in refusal.value.errors] == ["#/requires_approval"]


def test_parents_come_first_then_approval_then_the_time(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent], requires_approval=True, delay_ms=3_600_000)
    assert state(child) == "blocked"
    with pytest.raises(IllegalMove, match="blocked"):
        approve(child)
    finish(session, take_one(session, queue))
    assert state(child) == "awaiting_approval"
    approve(child)
    assert state(child) == "scheduled"
    come_round(child)
    assert take_one(session, queue).job_id == child


def test_approval_keeps_the_place_a_job_has_waited_for(queue, session):
    early = enqueue(queue, requires_approval=True)
    late = enqueue(queue)
    approve(early)
    assert order(session, queue) == [early, late]


def test_a_job_with_a_key_is_let_through_by_its_keys_gate(queue, session):
    queue.max_per_key = 1
    queue.save()
    first, second = (enqueue(queue, concurrency_key="k", requires_approval=True) for _ in range(2))
    approve(first)
    approve(second)
    assert take(session, queue) == []  # out of sight until the key's turn comes
    admit(keys=[(queue.pk, "k")])
    assert [one.job_id for one in take(session, queue)] == [first]


def test_who_approved_is_recorded_and_told(queue):
    job_id = enqueue(queue, requires_approval=True)
    approve(job_id, "looks right")
    [entry] = Entry.objects.filter(action="job.approve")
    assert (entry.actor, entry.before, entry.after) == (
        ANN.name,
        {"state": "awaiting_approval"},
        {"state": "queued", "note": "looks right"},
    )
    [fact] = told("job.approved")
    assert (fact.state, fact.job_ids, fact.data) == ("queued", [job_id], {"by": ANN.name, "note": "looks right"})
    assert look(job_id).approval["by"] == ANN.name


def test_an_approved_job_is_not_asked_about_again_when_it_is_retried(queue, session):
    job_id = enqueue(queue, requires_approval=True)
    approve(job_id)
    finish(session, take_one(session, queue), outcome="retryable_error")
    come_round(job_id)
    assert take_one(session, queue).approved is not None


def test_nobody_is_told_of_an_approval_that_there_was_none_of(queue, session):
    enqueue(queue)
    assert take_one(session, queue).approved is None


# Rejected


def test_a_rejected_job_is_cancelled_for_that_reason_and_keeps_the_note(queue):
    job_id = enqueue(queue, requires_approval=True)
    reject(job_id, "wrong customer")
    assert (state(job_id), reason(job_id)) == ("cancelled", "rejected")
    kept = look(job_id).approval
    assert (kept["decision"], kept["by"], kept["note"]) == ("rejected", ANN.name, "wrong customer")
    [entry] = Entry.objects.filter(action="job.reject")
    assert entry.before == {"state": "awaiting_approval"}
    assert entry.after == {"state": "cancelled", "reason": "rejected", "note": "wrong customer"}
    assert told("job.cancelled")[0].data == {"reason": "rejected"}


@pytest.mark.parametrize(("rule", "then"), [(None, "cancelled"), ("cancel", "cancelled"), ("run", "queued")])
def test_dependents_of_a_rejected_job_follow_their_rule(rule, then, queue):
    job_id = enqueue(queue, requires_approval=True)
    child = enqueue(queue, depends_on=[job_id], on_parent_failure=rule)
    reject(job_id)
    assert state(child) == then


@pytest.mark.parametrize("decide", [approve, reject])
def test_only_what_awaits_approval_can_be_decided_upon(decide, queue, session):
    waiting, running = enqueue(queue, delay_ms=60_000), enqueue(queue)
    take_one(session, queue)
    held = enqueue(queue, requires_approval=True)
    pause(ids=[held])
    done = enqueue(queue, requires_approval=True)
    reject(done)
    entries = Entry.objects.count()
    for job_id in (waiting, running, held, done):
        before = row(job_id)
        with pytest.raises(IllegalMove, match=before["state"]):
            decide(job_id)
        assert row(job_id) == before
    assert Entry.objects.count() == entries


# A handler that asks


def test_what_a_handler_asks_about_is_kept_while_it_waits(queue, session):
    job_id = asking(queue, session)
    job = look(job_id)
    assert (job.state, job.result, job.session_id) == ("awaiting_approval", {"draft": 1}, None)
    assert take(session, queue) == []
    [attempt] = ledger(job_id)
    assert (attempt.outcome, attempt.error_message) == ("needs_approval", "Please look.")
    assert told_of(job_id)[-1] == "job.awaiting_approval"


def test_asking_spends_neither_an_attempt_nor_a_snooze(queue, session):
    job_id = asking(queue, session, max_attempts=1)
    assert (look(job_id).attempt, look(job_id).snoozes, look(job_id).losses) == (0, 0, 0)
    approve(job_id)
    again = take_one(session, queue)
    assert again.attempt == 1
    finish(session, again)
    assert state(job_id) == "completed"


def test_an_approved_job_goes_on_from_what_it_had(queue, session):
    job_id = asking(queue, session)
    approve(job_id, "the second one")
    again = take_one(session, queue)
    assert again.approved == '{"note": "the second one", "result": {"draft": 1}}'
    finish(session, again, outcome="retryable_error")
    come_round(job_id)
    third = take_one(session, queue)
    assert third.approved == again.approved
    finish(session, third, result='{"done": true}')
    job = look(job_id)
    assert (job.state, job.result, job.approval["decision"]) == ("completed", {"done": True}, "approved")


def test_it_may_ask_again_and_needs_another_word(queue, session):
    job_id = asking(queue, session)
    approve(job_id, "first")
    finish(session, take_one(session, queue), result='{"draft": 2}', **ASKING)
    assert (state(job_id), look(job_id).result) == ("awaiting_approval", {"draft": 2})
    assert set(look(job_id).approval) == {"asked_at"}
    approve(job_id, "second")
    assert take_one(session, queue).approved == '{"note": "second", "result": {"draft": 2}}'


def test_a_result_of_nothing_can_be_asked_about(queue, session):
    job_id = asking(queue, session, result=None)
    approve(job_id)
    assert take_one(session, queue).approved == '{"note": "", "result": null}'


def test_rejecting_it_keeps_what_it_had(queue, session):
    job_id = asking(queue, session)
    reject(job_id)
    assert (state(job_id), reason(job_id), look(job_id).result) == ("cancelled", "rejected", {"draft": 1})


def test_retry_throws_away_what_it_had_and_runs_it_from_the_start(queue, session):
    job_id = asking(queue, session)
    services.retry_now(job_id=job_id, actor=ANN)
    assert (state(job_id), look(job_id).result, look(job_id).approval) == ("queued", None, None)
    assert take_one(session, queue).approved is None


def test_retry_is_no_way_around_an_approval(queue):
    job_id = enqueue(queue, requires_approval=True)
    with pytest.raises(IllegalMove, match="awaiting_approval"):
        services.retry_now(job_id=job_id, actor=ANN)
    assert state(job_id) == "awaiting_approval"


def test_a_worker_that_was_fenced_moves_nothing(queue, session):
    job_id = enqueue(queue)
    stale = take_one(session, queue)
    finish(session, stale, outcome="released")
    other = SessionFactory.create()
    take_one(other, queue)
    before = row(job_id)
    assert finish(session, stale, result='{"draft": 1}', **ASKING) == []
    assert row(job_id) == before


def test_a_job_that_was_to_be_cancelled_asks_nobody(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    services.cancel(job_id=job_id, actor=ANN)
    finish(session, taken, result='{"draft": 1}', **ASKING)
    assert (state(job_id), ledger(job_id)[0].outcome) == ("cancelled", "cancelled")


def test_who_asks_long_after_the_deadline_has_timed_out(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    pass_deadline(job_id)
    finish(session, taken, result='{"draft": 1}', **ASKING)
    assert (state(job_id), ledger(job_id)[0].outcome, look(job_id).result) == ("retry_wait", "timeout", None)


def test_the_place_of_a_job_that_waits_for_a_person_is_free(queue, session):
    queue.max_per_key = 1
    queue.save()
    first, second = (enqueue(queue, concurrency_key="k") for _ in range(2))
    admit(keys=[(queue.pk, "k")])
    finish(session, take_one(session, queue), **ASKING)
    admit(keys=[(queue.pk, "k")])
    assert take_one(session, queue).job_id == second
    approve(first)
    admit(keys=[(queue.pk, "k")])
    assert take(session, queue) == []


# Why it waits


def test_why_it_waits_says_since_when(queue, session):
    plain = enqueue(queue, requires_approval=True)
    run("UPDATE jobs_job_live SET created_at = '2026-05-01T10:00:00Z' WHERE id = %s", [plain])
    assert first_gate(plain).says == "It waits for somebody's approval since 2026-05-01 10:00:00 UTC."
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent], requires_approval=True)
    finish(session, take_one(session, queue))
    run("UPDATE jobs_dependency SET settled_at = '2026-05-02T10:00:00Z' WHERE child_id = %s", [child])
    assert first_gate(child).says == "It waits for somebody's approval since 2026-05-02 10:00:00 UTC."
    asked = first_gate(asking(queue, session))
    assert asked.says.startswith("Its handler waits for somebody's approval of what it has done so far, since ")
    assert asked.since
    assert now() - asked.since < timedelta(minutes=1)


def first_gate(job_id):
    waiting = why_waiting(look(job_id))
    assert waiting
    assert waiting.gates[0].code == "approval"
    return waiting.gates[0]
