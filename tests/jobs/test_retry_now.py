"""Retry now: a job that waits for its time runs at once, in its place among its peers."""

import pytest
from uuid_utils.compat import uuid7

from apps.errors import IllegalMove, NotFound
from apps.jobs import services
from tests.acts import enqueue, finish, take_one
from tests.jobs.looks import ANN, look, row, state, told_of


def retry_now(job_id):
    services.retry_now(job_id=job_id, actor=ANN)


def test_a_job_that_waits_for_its_retry_runs_now(queue, session):
    job_id = enqueue(queue)
    finish(session, take_one(session, queue), outcome="retryable_error", delay_ms=3_600_000)
    retry_now(job_id)
    assert state(job_id) == "queued"
    assert take_one(session, queue).attempt == 2
    assert "job.retried_now" in told_of(job_id)


def test_a_scheduled_job_runs_now(queue, session):
    job_id = enqueue(queue, delay_ms=3_600_000)
    retry_now(job_id)
    assert take_one(session, queue).job_id == job_id


def test_it_takes_the_place_of_this_moment_not_that_of_its_time(queue, session):
    early, delayed = enqueue(queue), enqueue(queue, delay_ms=3_600_000)
    retry_now(delayed)
    late = enqueue(queue)
    assert [take_one(session, queue).job_id for _ in range(3)] == [early, delayed, late]


def test_lost_work_keeps_the_place_it_had(queue, session):
    job_id = enqueue(queue)
    rank = look(job_id).rank
    finish(session, take_one(session, queue), outcome="lost")
    retry_now(job_id)
    assert look(job_id).rank == rank


def test_it_spends_no_attempt_and_gives_none(queue, session):
    job_id = enqueue(queue, max_attempts=2)
    finish(session, take_one(session, queue), outcome="retryable_error")
    retry_now(job_id)
    finish(session, take_one(session, queue), outcome="retryable_error")
    assert state(job_id) == "dead_letter"


@pytest.mark.parametrize(
    "how", ["queued", "running", "blocked", "awaiting_approval", "completed", "dead_letter", "cancelled"]
)
def test_a_job_in_any_other_state_is_refused_by_its_name(queue, session, how):
    job_id = enqueue(queue, requires_approval=how == "awaiting_approval")
    if how == "blocked":
        job_id = enqueue(queue, type="pong", depends_on=[job_id])
    if how in ("running", "completed", "dead_letter", "cancelled"):
        taken = take_one(session, queue)
        outcomes = {"completed": "success", "dead_letter": "permanent_error", "cancelled": "cancelled"}
        if how in outcomes:
            finish(session, taken, outcome=outcomes[how])
    before = row(job_id)
    assert before["state"] == how
    with pytest.raises(IllegalMove, match=how):
        retry_now(job_id)
    assert row(job_id) == before


def test_a_job_nobody_knows_is_not_found(db):
    with pytest.raises(NotFound):
        retry_now(uuid7())
