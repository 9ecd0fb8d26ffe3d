"""Duplicate: a new job with the fields of another one, from whatever state and shelf."""

from datetime import UTC, datetime

import pytest
from uuid_utils.compat import uuid7

from apps.audit.models import Entry
from apps.audit.record import Actor
from apps.errors import BadInput, NotFound, QueueFull, WorkerUnavailable
from apps.jobs import services
from apps.jobs.models import Dependency
from apps.queues.models import Depth
from tests.acts import enqueue, fall_silent, finish, let_days_pass, take_one
from tests.factories import RetryPolicyFactory, UserFactory
from tests.jobs.looks import ANN, fail_for_good, look, row, run

SAME = {
    "queue_id", "type", "payload", "priority", "timeout_ms", "retry_policy_id", "max_attempts", "max_losses", "max_snoozes",
    "concurrency_key", "labels", "requires_approval",
}  # fmt: skip


def duplicate(job_id, **changes):
    return services.duplicate(job_id=job_id, actor=ANN, **changes).job_id


def rich(queue):
    """A job of which everything is said."""
    policy = RetryPolicyFactory.create(project=queue.project)
    return services.submit(
        queue=queue, type="ping", payload={"a": [1, None, "é"]}, priority=7, timeout_ms=1500, max_attempts=2, max_losses=4,
        max_snoozes=6, retry_policy=policy, concurrency_key="k", labels={"b": "c"}, unique_key="u", submitted_by=uuid7(),
    ).pk  # fmt: skip


ENDS = {
    "queued": lambda queue, session, job_id: None,
    "running": lambda queue, session, job_id: take_one(session, queue),
    "retry_wait": lambda queue, session, job_id: finish(session, take_one(session, queue), outcome="retryable_error"),
    "paused": lambda queue, session, job_id: services.pause_job(job_id=job_id, actor=ANN),
    "completed": lambda queue, session, job_id: finish(session, take_one(session, queue), result="1"),
    "dead_letter": lambda queue, session, job_id: fail_for_good(session, queue, job_id),
    "cancelled": lambda queue, session, job_id: services.cancel(job_id=job_id, actor=ANN),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_job_in_any_state_is_copied_and_stays_as_it_is(end, queue, session):
    job_id = rich(queue)
    run("UPDATE jobs_job_live SET key_full = FALSE WHERE id = %s", [job_id])
    ENDS[end](queue, session, job_id)
    before = row(job_id)
    assert before["state"] == end
    copy = row(duplicate(job_id))
    assert {name: copy[name] for name in SAME} == {name: before[name] for name in SAME}
    assert (copy["state"], copy["attempt"], copy["generation"], copy["result"]) == ("queued", 0, 1, None)
    assert row(job_id) == before


def test_it_is_nobodys_child_and_has_no_key_batch_or_history(queue, session):
    parent = enqueue(queue)
    placed = services.submit_batch(
        queue=queue, jobs=[{"type": "ping", "depends_on": [str(parent)], "unique_key": "u", "delay_seconds": 60}]
    )
    copy = duplicate(placed.jobs[0].job_id)
    assert not Dependency.objects.filter(child_id=copy).exists()
    job = look(copy)
    assert (job.state, job.unique_key, job.batch_id, job.pending) == ("queued", None, None, 0)
    assert job.run_at == job.created_at


def test_one_that_was_finished_days_ago_is_found_on_its_day(queue, session):
    job_id = enqueue(queue, payload='{"n": 1}')
    finish(session, take_one(session, queue))
    let_days_pass(job_id, 1)
    assert look(duplicate(job_id)).payload == {"n": 1}


def test_payload_priority_and_time_may_be_others(queue):
    later = datetime(2099, 1, 1, tzinfo=UTC)
    job = look(duplicate(rich(queue), payload=None, priority=0, run_at=later))
    assert (job.payload, job.priority, job.run_at, job.state) == (None, 0, later, "scheduled")


def test_no_digit_of_the_payload_is_lost(queue):
    exact = '{"big": 9007199254740993, "long": 123456789012345678901234567890.12345678901234567890}'
    copy = duplicate(enqueue(queue, payload=exact))
    assert run("SELECT payload::text FROM jobs_job_live WHERE id = %s", [copy]) == [(exact,)]


@pytest.mark.parametrize(
    ("field", "value"),
    [("payload", {"a": "\0"}), ("payload", float("nan")), ("payload", "x" * 300_000), ("priority", 5000)],
)
def test_it_is_checked_as_a_submission_is(field, value, queue):
    with pytest.raises(BadInput) as refusal:
        duplicate(enqueue(queue), **{field: value})
    assert [fault.pointer for fault in refusal.value.errors] == [f"#/{field}"]


def test_a_type_the_queue_does_not_take_any_more_is_refused(queue):
    job_id = enqueue(queue)
    queue.allowed_types = ["pong"]
    queue.save()
    with pytest.raises(BadInput, match="does not take"):
        duplicate(job_id)


def test_a_full_queue_takes_no_copies(queue):
    job_id = enqueue(queue)
    queue.max_depth = 1
    queue.save()
    run("INSERT INTO queues_depth (queue_id, queued, running, measured_at) VALUES (%s, 1, 0, now())", [queue.pk])
    assert Depth.objects.get().queued == 1
    with pytest.raises(QueueFull):
        duplicate(job_id)


def test_a_retry_policy_that_is_gone_is_left_to_the_queue(queue):
    job_id = rich(queue)
    run("UPDATE jobs_job_live SET retry_policy_id = gen_random_uuid() WHERE id = %s", [job_id])
    assert look(duplicate(job_id)).retry_policy_id is None


def test_it_keeps_to_the_worker_that_the_original_requires(queue, session):
    job_id = services.submit(queue=queue, type="ping", required_worker=session.worker.uid).pk
    assert (look(duplicate(job_id)).placement, look(duplicate(job_id)).required_worker) == ("job", session.worker_id)
    fall_silent(session)
    with pytest.raises(WorkerUnavailable):
        duplicate(job_id)


def test_one_that_keeps_to_where_it_runs_first_may_begin_anywhere(queue):
    job_id = services.submit(queue=queue, type="ping", placement="job").pk
    copy = look(duplicate(job_id))
    assert (copy.placement, copy.required_worker, copy.assigned_worker) == ("job", None, None)


def test_it_is_written_down_and_is_its_makers(queue):
    bob = Actor(name="bob@example.com", user_id=UserFactory.create().pk)
    job_id = enqueue(queue)
    copy = services.duplicate(job_id=job_id, actor=bob, priority=3).job_id
    [entry] = Entry.objects.all()
    assert (entry.action, entry.target_id, entry.actor) == ("job.duplicate", str(job_id), bob.name)
    assert entry.after == {"job": str(copy), "changed": ["priority"]}
    assert look(copy).submitted_by == bob.user_id


def test_a_job_nobody_knows_is_not_found(db):
    with pytest.raises(NotFound):
        duplicate(uuid7())
