"""Reports come in batches: each attempt for itself, one fact for all, one entry for each."""

from datetime import timedelta
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from apps.jobs import services
from apps.jobs.engine.report import Ended, report
from tests.acts import enqueue, finish, take, take_one
from tests.factories import QueueFactory
from tests.jobs.looks import come_round, ledger, row, run, told, told_of, wait_of


@pytest.mark.parametrize(("asked", "given"), [(-5_000, 0), (10**30, 10**12)])
def test_a_delay_that_is_none_is_cut_and_does_not_fail_the_batch(queue, session, asked, given):
    enqueue(queue)
    [done] = finish(session, take_one(session, queue), outcome="retryable_error", delay_ms=asked)
    assert wait_of(done) == timedelta(milliseconds=given)


def test_a_batch_may_mix_outcomes_and_queues(queue, session):
    other = QueueFactory.create(project=queue.project)
    for line in (queue, queue, queue, other):
        enqueue(line)
    first, second, third = take(session, queue)
    [fourth] = take(session, other)
    outcomes = [(first, "success"), (second, "success"), (third, "retryable_error"), (fourth, "success")]
    done = report(
        ended=[
            Ended(job_id=taken.job_id, fence=taken.fence, session_id=session.pk, outcome=outcome)
            for taken, outcome in outcomes
        ]
    )
    assert {one.fence: one.outcome for one in done} == {taken.fence: outcome for taken, outcome in outcomes}
    completed = {fact.queue_id: set(fact.job_ids) for fact in told("job.completed")}
    assert completed == {queue.id: {first.job_id, second.job_id}, other.id: {fourth.job_id}}
    [waits] = told("job.retry_wait")
    assert (waits.queue_id, waits.job_ids) == (queue.id, [third.job_id])


def test_errors_of_a_batch_are_told_job_by_job(queue, session):
    for _ in range(2):
        enqueue(queue)
    loud, mute = take(session, queue)
    errors: dict[str, Any] = {"error_class": "A", "error_message": "a" * 300}
    report(
        ended=[
            Ended(job_id=loud.job_id, fence=loud.fence, session_id=session.pk, outcome="permanent_error", **errors),
            Ended(job_id=mute.job_id, fence=mute.fence, session_id=session.pk, outcome="permanent_error"),
        ]
    )
    [fact] = told("job.dead_letter")
    assert dict(zip(fact.job_ids, fact.errors or [], strict=True)) == {
        loud.job_id: "A: " + "a" * 197,
        mute.job_id: None,
    }


def test_an_attempt_named_twice_in_one_batch_ends_once(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    assert len(finish(session, taken, taken)) == 1
    assert len(ledger(job_id)) == 1
    assert told_of(job_id) == ["job.enqueued", "job.started", "job.completed"]


def test_an_empty_batch_is_nothing(db):
    assert report(ended=[]) == []


def test_five_hundred_reports_are_one_batch(queue, session):
    session.concurrency = 500
    session.save()
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 500)
    taken = take(session, queue, limit=500)
    assert len(finish(session, *taken, result="1")) == 500
    assert len(told("job.completed")) == 1


def test_the_life_of_a_job_is_told_step_by_step(queue, session):
    job_id = enqueue(queue, delay_ms=60_000)
    come_round(job_id)
    finish(session, take_one(session, queue), outcome="retryable_error")
    come_round(job_id)
    finish(session, take_one(session, queue))
    assert told_of(job_id) == [
        "job.enqueued",
        "job.promoted",
        "job.started",
        "job.retry_wait",
        "job.promoted",
        "job.started",
        "job.completed",
    ]


def test_a_batch_and_a_workflow_are_not_forgotten_at_the_end(queue, session):
    batch = services.submit_batch(queue=queue, jobs=[{"type": "ping", "labels": {"a": "b"}, "unique_key": "k"}]).batch
    workflow = uuid7()
    run("UPDATE jobs_job_live SET workflow_id = %s, schedule_id = %s", [workflow, workflow])
    taken = take_one(session, queue)
    before = row(taken.job_id)
    assert (before["batch_id"], before["workflow_id"]) == (batch.id, workflow)
    finish(session, taken)
    after = row(taken.job_id)
    assert {name for name in before if before[name] != after[name]} == {"state", "finished_at", "shelved_on"}
