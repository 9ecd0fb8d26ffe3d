"""A report: what each outcome does to the job, its counts, its budgets and its ledger."""

from datetime import timedelta

import pytest

from apps.jobs import services
from tests.acts import enqueue, finish, take, take_one
from tests.jobs.looks import (
    ANN,
    as_if_tried,
    come_round,
    ledger,
    let_lapse,
    look,
    overrun,
    run,
    state,
    told,
    wait_of,
)

FAILED = {"error_class": "Broken", "error_message": "It broke.", "traceback": "Traceback …", "runtime": '{"signal": 9}'}


def end(session, queue, outcome, **fields):
    """One attempt of the only job there is."""
    [done] = finish(session, take_one(session, queue), outcome=outcome, **fields)
    return done


def counts(job_id):
    job = look(job_id)
    return {"attempt": job.attempt, "losses": job.losses, "snoozes": job.snoozes}


# outcome → where the job goes with budget left, and what it has then spent
GOES = {
    "success": ("completed", {"attempt": 1, "losses": 0, "snoozes": 0}),
    "retryable_error": ("retry_wait", {"attempt": 1, "losses": 0, "snoozes": 0}),
    "timeout": ("retry_wait", {"attempt": 1, "losses": 0, "snoozes": 0}),
    "permanent_error": ("dead_letter", {"attempt": 1, "losses": 0, "snoozes": 0}),
    "lost": ("retry_wait", {"attempt": 1, "losses": 1, "snoozes": 0}),
    "crashed": ("retry_wait", {"attempt": 1, "losses": 1, "snoozes": 0}),
    "snoozed": ("scheduled", {"attempt": 0, "losses": 0, "snoozes": 1}),
    "released": ("queued", {"attempt": 0, "losses": 0, "snoozes": 0}),
    "cancelled": ("cancelled", {"attempt": 1, "losses": 0, "snoozes": 0}),
}


@pytest.mark.parametrize("outcome", GOES)
def test_where_a_job_goes_and_what_it_has_spent(queue, session, outcome):
    job_id = enqueue(queue)
    done = end(session, queue, outcome)
    goes, spent = GOES[outcome]
    assert (done.job_id, done.outcome, done.state) == (job_id, outcome, goes) == (job_id, outcome, state(job_id))
    assert counts(job_id) == spent


@pytest.mark.parametrize("outcome", GOES)
def test_the_ledger_says_how_every_attempt_ended(queue, session, outcome):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    started_at = look(job_id).started_at
    finish(session, taken, outcome=outcome, **FAILED)
    [entry] = ledger(job_id)
    assert (entry.outcome, entry.fence, entry.attempt, entry.generation) == (outcome, taken.fence, 1, 1)
    assert (entry.queue_id, entry.session_id, entry.worker_id) == (queue.id, session.id, session.worker_id)
    assert (entry.error_class, entry.error_message, entry.traceback) == ("Broken", "It broke.", "Traceback …")
    assert entry.runtime == {"signal": 9}
    assert started_at == entry.started_at < entry.finished_at
    assert entry.run_at <= entry.started_at


@pytest.mark.parametrize("outcome", GOES)
def test_it_is_told_with_the_state_the_attempt_and_the_error(queue, session, outcome):
    job_id = enqueue(queue)
    goes, _ = GOES[outcome]
    end(session, queue, outcome, **FAILED)
    [fact] = told(f"job.{goes}")
    assert (fact.state, fact.job_ids, fact.attempts, fact.errors) == (goes, [job_id], [1], ["Broken: It broke."])


def test_a_completed_job_keeps_its_result_and_stands_on_todays_shelf(queue, session):
    job_id = enqueue(queue)
    end(session, queue, "success", result='{"n": 1}')
    job = look(job_id)
    assert (job.result, job.reason) == ({"n": 1}, None)
    [[today]] = run("SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date")
    assert job.shelved_on == today == job.finished_at.date()


@pytest.mark.parametrize("outcome", ["retryable_error", "timeout", "lost", "crashed", "snoozed", "released"])
def test_a_job_that_goes_on_is_nobodys(queue, session, outcome):
    job_id = enqueue(queue)
    end(session, queue, outcome)
    job = look(job_id)
    assert job.session_id is job.started_at is job.deadline_at is None


# outcome, attempts made before, losses, max_attempts, max_losses → why it is the end
LAST = [
    ("retryable_error", 0, 0, 1, 3, "attempts_exhausted"),
    ("retryable_error", 4, 0, 5, 3, "attempts_exhausted"),
    ("timeout", 4, 2, 5, 3, "attempts_exhausted"),
    ("permanent_error", 0, 0, 5, 3, "permanent_error"),
    ("lost", 0, 0, 5, 1, "lost_exhausted"),
    ("crashed", 2, 2, 5, 3, "lost_exhausted"),
    ("lost", 4, 0, 5, 3, "lost_exhausted"),
    ("crashed", 0, 0, 1, 3, "lost_exhausted"),
]


@pytest.mark.parametrize(("outcome", "tried", "losses", "max_attempts", "max_losses", "reason"), LAST)
def test_the_first_budget_to_end_ends_the_job_and_says_which(
    queue, session, outcome, tried, losses, max_attempts, max_losses, reason
):
    job_id = enqueue(queue, max_attempts=max_attempts, max_losses=max_losses)
    as_if_tried(job_id, tried)
    run("UPDATE jobs_job_live SET losses = %s", [losses])
    end(session, queue, outcome)
    job = look(job_id)
    assert (job.state, job.reason) == ("dead_letter", reason)
    assert str(job.shelved_on) == "9999-12-31"
    assert job.attempt == tried + 1
    assert job.losses == losses + (outcome in ("lost", "crashed"))


@pytest.mark.parametrize(("outcome", "tried", "losses"), [("retryable_error", 3, 0), ("lost", 1, 1), ("timeout", 3, 2)])
def test_one_short_of_every_budget_it_goes_on(queue, session, outcome, tried, losses):
    job_id = enqueue(queue, max_attempts=5, max_losses=3)
    as_if_tried(job_id, tried)
    run("UPDATE jobs_job_live SET losses = %s", [losses])
    end(session, queue, outcome)
    assert state(job_id) == "retry_wait"


def test_a_snooze_spends_no_attempt_but_there_is_an_end_to_it(queue, session):
    job_id = enqueue(queue, max_attempts=1)
    run("UPDATE jobs_job_live SET max_snoozes = 2")
    for nth in (1, 2):
        end(session, queue, "snoozed", delay_ms=1000)
        assert counts(job_id) == {"attempt": 0, "losses": 0, "snoozes": nth}
        come_round(job_id)
    end(session, queue, "snoozed", delay_ms=1000)
    assert (look(job_id).state, look(job_id).reason) == ("dead_letter", "snoozes_exhausted")


def test_a_release_spends_nothing_however_often_and_keeps_the_place_in_the_line(queue, session):
    job_id = enqueue(queue, max_attempts=1)
    rank = look(job_id).rank
    other = enqueue(queue)
    for _ in range(5):
        taken = take_one(session, queue)
        assert taken.job_id == job_id
        assert taken.attempt == 1
        finish(session, taken, outcome="released")
    assert look(job_id).rank == rank
    assert {one.job_id for one in take(session, queue)} == {job_id, other}


@pytest.mark.parametrize("outcome", ["lost", "crashed"])
def test_lost_work_keeps_its_place_and_only_waits(queue, session, outcome):
    job_id = enqueue(queue, priority=3)
    rank = look(job_id).rank
    end(session, queue, outcome)
    fresh = enqueue(queue, priority=3)
    assert look(job_id).rank == rank
    come_round(job_id)
    assert take_one(session, queue).job_id == job_id
    assert state(fresh) == "queued"


def test_a_failed_attempt_takes_its_place_by_the_time_of_its_retry(queue, session):
    job_id = enqueue(queue, priority=3)
    end(session, queue, "retryable_error")
    fresh = enqueue(queue, priority=3)
    come_round(job_id)
    assert [take_one(session, queue).job_id for _ in range(2)] == [fresh, job_id]


@pytest.mark.parametrize(("outcome", "goes"), [("retryable_error", "retry_wait"), ("snoozed", "scheduled")])
def test_the_handler_may_say_when(queue, session, outcome, goes):
    job_id = enqueue(queue)
    done = end(session, queue, outcome, delay_ms=3_600_000)
    assert wait_of(done) == timedelta(hours=1)
    assert (state(job_id), look(job_id).run_at) == (goes, done.run_at)


@pytest.mark.parametrize("outcome", GOES)
def test_after_a_cancel_request_every_outcome_is_the_end(queue, session, outcome):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    assert services.cancel(job_id=job_id, actor=ANN).cancelling
    finish(session, taken, outcome=outcome)
    job = look(job_id)
    assert (job.state, job.reason) == ("cancelled", "cancelled")
    kept = "cancelled" if outcome in ("success", "released", "snoozed") else outcome
    assert [one.outcome for one in ledger(job_id)] == [kept]


def test_a_success_long_after_the_deadline_is_a_timeout(queue, session, settings):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    overrun(job_id, settings.DEADLINE_GRACE_SECONDS + 1)
    [done] = finish(session, taken)
    assert (done.outcome, done.state) == ("timeout", "retry_wait")
    assert [one.outcome for one in ledger(job_id)] == ["timeout"]


def test_a_success_within_the_grace_counts(queue, session, settings):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    overrun(job_id, settings.DEADLINE_GRACE_SECONDS - 3)
    finish(session, taken)
    assert state(job_id) == "completed"


def test_a_failure_after_the_deadline_stays_the_failure_it_was(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    overrun(job_id, 3600)
    finish(session, taken, outcome="permanent_error")
    assert [one.outcome for one in ledger(job_id)] == ["permanent_error"]


def test_a_late_report_counts_while_no_reaper_has_acted(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    let_lapse(session)
    finish(session, taken)
    assert state(job_id) == "completed"
