"""Many jobs in one call: all or nothing, an error names its item, a key given twice is one job."""

import pytest
from django.db import IntegrityError, transaction
from uuid_utils.compat import uuid7

from apps.errors import BadInput, UnknownField
from apps.jobs import services
from apps.jobs.models import Batch, Job
from tests.factories import RetryPolicyFactory
from tests.jobs.looks import look, run, told


def submit_batch(queue, jobs, **fields):
    return services.submit_batch(queue=queue, jobs=jobs, **fields)


def pings(count, **fields):
    return [{"type": "ping", "payload": {"n": n}, **fields} for n in range(count)]


def test_a_thousand_jobs_are_made_at_once_and_answered_in_order(queue):
    ann = uuid7()
    made = submit_batch(queue, pings(1000), submitted_by=ann)
    jobs = Job.objects.in_bulk([one.job_id for one in made.jobs])
    assert [jobs[one.job_id].payload["n"] for one in made.jobs] == list(range(1000))
    assert {(one.state, one.is_new) for one in made.jobs} == {("queued", True)}
    assert {(job.batch_id, job.submitted_by) for job in jobs.values()} == {(made.batch.id, ann)}
    assert (made.batch.size, made.batch.queue, made.batch.project) == (1000, queue, queue.project)


def test_they_are_told_as_one_fact(queue):
    made = submit_batch(queue, pings(50))
    [fact] = told("job.enqueued")
    assert fact.job_ids == sorted(one.job_id for one in made.jobs)


def test_they_take_a_handful_of_statements_however_many_they_are(queue, django_assert_max_num_queries):
    with django_assert_max_num_queries(6):
        submit_batch(queue, pings(1000))


@pytest.mark.parametrize("count", [0, 1001, 6554])
def test_none_and_too_many_are_refused_with_the_limit(queue, count):
    with pytest.raises(BadInput, match="between 1 and 1000") as refusal:
        submit_batch(queue, pings(count))
    assert [fault.pointer for fault in refusal.value.errors] == ["#/jobs"]


@pytest.mark.parametrize(
    ("item", "pointer"),
    [
        ({"type": "ping", "priority": "x"}, "#/jobs/501/priority"),
        ({"payload": {}}, "#/jobs/501/type"),
        ({"type": "ping", "retry_policy": "none"}, "#/jobs/501/retry_policy"),
        ({"type": "ping", "depends_on": [str(uuid7())]}, "#/jobs/501/depends_on/0"),
    ],
)
def test_one_bad_item_is_named_and_none_is_made(queue, item, pointer):
    jobs = pings(1000)
    jobs[501] = item
    with pytest.raises(BadInput) as refusal:
        submit_batch(queue, jobs)
    assert [fault.pointer for fault in refusal.value.errors] == [pointer]
    assert not Job.objects.exists()
    assert not Batch.objects.exists()
    assert not told("job.enqueued")


def test_an_unknown_field_of_one_item_is_named(queue):
    with pytest.raises(UnknownField) as refusal:
        submit_batch(queue, [*pings(2), {"type": "ping", "colour": "red"}])
    assert [fault.pointer for fault in refusal.value.errors] == ["#/jobs/2/colour"]


def test_what_the_database_refuses_is_refused_for_all(queue):
    run("ALTER TABLE jobs_job_live ADD CONSTRAINT not_seven CHECK ((payload ->> 'n') <> '7')")
    with pytest.raises(IntegrityError), transaction.atomic():
        submit_batch(queue, pings(10))
    assert not Job.objects.exists()
    assert not Batch.objects.exists()


def test_a_key_given_twice_in_one_call_is_one_job_and_says_so(queue):
    jobs = [{"type": "ping", "unique_key": key} for key in ("b", "a", "b", "a")]
    first, second, third, fourth = submit_batch(queue, jobs).jobs
    assert (third.job_id, third.is_new) == (first.job_id, False)
    assert (fourth.job_id, fourth.is_new) == (second.job_id, False)
    assert first.is_new
    assert second.is_new
    assert Job.objects.count() == 2


def test_a_key_that_a_live_job_holds_is_answered_with_that_job_among_new_ones(queue):
    held = services.submit(queue=queue, type="ping", unique_key="a")
    first, second = submit_batch(queue, [{"type": "ping"}, {"type": "ping", "unique_key": "a"}]).jobs
    assert (second.job_id, second.is_new) == (held.id, False)
    assert look(held.id).batch_id is None
    assert look(first.job_id).batch_id is not None


def test_each_item_may_differ_in_every_field(queue):
    policy = RetryPolicyFactory.create(project=queue.project, max_attempts=2)
    made = submit_batch(
        queue,
        [
            {"type": "ping"},
            {"type": "pong", "priority": 5, "labels": {"a": "b"}},
            {"type": "ping", "delay_seconds": 60, "retry_policy": policy.name},
            {"type": "ping", "timeout_ms": 7, "max_attempts": 1, "max_losses": 2, "unique_key": "k"},
        ],
    ).jobs
    plain, pong, later, last = (look(one.job_id) for one in made)
    assert (plain.priority, plain.labels, plain.timeout_ms, plain.state, plain.max_attempts) == (
        0,
        None,
        None,
        "queued",
        5,
    )
    assert (pong.type, pong.priority, pong.labels) == ("pong", 5, {"a": "b"})
    assert (later.state, later.retry_policy, later.max_attempts) == ("scheduled", policy, 2)
    assert (last.timeout_ms, last.max_attempts, last.max_losses, last.unique_key) == (7, 1, 2, "k")


def test_items_may_depend_on_jobs_that_exist(queue):
    parent = services.submit(queue=queue, type="ping")
    made = submit_batch(queue, [{"type": "ping", "depends_on": [parent.id]}, {"type": "ping"}]).jobs
    assert [one.state for one in made] == ["blocked", "queued"]


def test_jobs_of_one_call_stand_in_line_as_they_were_given(queue):
    """By their ranks: neither the planner's order nor a clock that is set back meanwhile may shuffle them."""
    made = [one.job_id for one in services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 50).jobs]
    ranks = dict(run("SELECT id, rank FROM jobs_job_live"))
    first = ranks[made[0]]
    assert [ranks[job_id] for job_id in made] == list(range(first, first + 50))
