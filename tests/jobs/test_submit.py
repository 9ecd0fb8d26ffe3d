"""Submitting one job: what it says, what it leaves to the queue, and what is refused."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import structlog
from django.utils import timezone
from uuid_utils.compat import uuid7

from apps.errors import BadInput, NotFound, UnknownField
from apps.jobs import services
from tests.acts import take, take_one
from tests.factories import ProjectFactory, QueueFactory, RetryPolicyFactory
from tests.jobs.looks import look, row, told


def submit(queue, **fields):
    return services.submit(queue=queue, **{"type": "ping", **fields})


def pointers(refusal) -> list[str]:
    return [fault.pointer for fault in refusal.value.errors]


def test_a_job_says_what_it_was_told(queue):
    ann = uuid7()
    job = submit(
        queue,
        payload={"path": "a.png"},
        priority=7,
        timeout_ms=1500,
        max_attempts=2,
        max_losses=4,
        max_snoozes=6,
        on_parent_failure="run",
        unique_key="a.png",
        labels={"colour": "red"},
        submitted_by=ann,
    )
    again = look(job.id)
    assert again.queue == queue
    assert (again.type, again.payload, again.labels) == ("ping", {"path": "a.png"}, {"colour": "red"})
    assert (again.priority, again.timeout_ms, again.max_attempts, again.max_losses) == (7, 1500, 2, 4)
    assert again.max_snoozes == 6
    assert (again.on_parent_failure, again.unique_key, again.submitted_by) == ("run", "a.png", ann)


def test_the_answer_is_the_row_as_it_was_written(queue):
    own = RetryPolicyFactory.create(project=queue.project)
    for fields in (
        {},
        {"payload": None, "delay_seconds": 60, "priority": -3},
        {"payload": {"a": [1, 2.5]}, "labels": {"b": "c"}, "unique_key": "k", "retry_policy": own, "max_losses": 2},
        {"unique_key": "k"},
        {"timeout_ms": 9, "on_parent_failure": "run", "submitted_by": uuid7(), "max_attempts": 7},
        {"requires_approval": True, "max_snoozes": 3},
        {"requires_approval": False, "max_snoozes": 0, "unique_key": "other"},
    ):
        job = submit(queue, **fields)
        written = row(job.id)
        assert {name: getattr(job, name) for name in written} == written


def test_a_new_job_is_queued_and_has_spent_nothing(queue):
    job = submit(queue)
    assert job.is_new
    assert (job.state, job.generation, job.payload) == ("queued", 1, {})
    assert (job.attempt, job.losses, job.snoozes, job.releases, job.fence) == (0, 0, 0, 0, 0)
    assert job.session_id is None
    assert job.started_at is job.finished_at is job.deadline_at is None


def test_what_it_leaves_open_comes_from_the_queue(project):
    policy = RetryPolicyFactory.create(project=project, max_attempts=9, max_losses=8)
    queue = QueueFactory.create(project=project, default_priority=3, retry_policy=policy)
    job = submit(queue)
    assert (job.priority, job.max_attempts, job.max_losses) == (3, 9, 8)
    assert job.retry_policy is None  # it follows its queue, also when the queue changes its mind


def test_without_any_policy_there_are_five_attempts_and_three_losses(queue):
    job = submit(queue)
    assert (job.priority, job.max_attempts, job.max_losses, job.max_snoozes) == (0, 5, 3, 100)


def test_the_jobs_own_policy_counts_more_than_the_queues_and_its_own_number_more_than_any_policy(project):
    queues = RetryPolicyFactory.create(project=project, max_attempts=9)
    own = RetryPolicyFactory.create(project=project, max_attempts=4, max_losses=2)
    queue = QueueFactory.create(project=project, retry_policy=queues)
    job = submit(queue, retry_policy=own)
    assert (job.max_attempts, job.max_losses, job.retry_policy) == (4, 2, own)
    assert submit(queue, retry_policy=own, max_attempts=1).max_attempts == 1


def test_a_policy_is_named_by_its_name_its_id_or_its_row(queue):
    policy = RetryPolicyFactory.create(project=queue.project, name="patient")
    for named in ("patient", policy, policy.id, str(policy.id)):
        assert submit(queue, retry_policy=named).retry_policy == policy


@pytest.mark.parametrize("named", ["nobody", "\x00", "\ud800", 7, ["patient"], UUID(int=1)])
def test_a_policy_that_is_not_there_is_refused(queue, named):
    with pytest.raises(BadInput) as refusal:
        submit(queue, retry_policy=named)
    assert pointers(refusal) == ["#/retry_policy"]


def test_a_policy_of_another_project_is_not_there(queue):
    foreign = RetryPolicyFactory.create(name="foreign")
    for named in ("foreign", foreign, foreign.id):
        with pytest.raises(BadInput):
            submit(queue, retry_policy=named)


def test_a_queue_is_named_by_its_path(queue):
    assert submit("acme/media/images").queue == queue


@pytest.mark.parametrize(
    "path",
    ["images", "acme/media", "acme/media/none", "acme/media/images/x", "", "//", "acme/media/\x00", "a/b/\ud800"],
)
def test_a_path_that_leads_nowhere_is_refused(queue, path):
    with pytest.raises(NotFound):
        submit(path)


def test_a_queue_that_names_its_types_takes_no_others(project):
    queue = QueueFactory.create(project=project, allowed_types=["ping"])
    submit(queue)
    with pytest.raises(BadInput) as refusal:
        submit(queue, type="pong")
    assert pointers(refusal) == ["#/type"]


def test_a_field_that_does_not_exist_is_named(queue):
    with pytest.raises(UnknownField) as refusal:
        submit(queue, colour="red")
    assert pointers(refusal) == ["#/colour"]


WRONG = [
    ("type", ""),
    ("type", "x" * 129),
    ("type", 7),
    ("type", "a\x00b"),
    ("type", "\ud800"),
    ("priority", 1001),
    ("priority", -1001),
    ("priority", 2147483648),
    ("priority", 1.5),
    ("priority", "7"),
    ("priority", True),
    ("max_attempts", 0),
    ("max_attempts", -1),
    ("max_attempts", 1001),
    ("max_losses", 0),
    ("timeout_ms", 0),
    ("timeout_ms", 30 * 86_400_000 + 1),
    ("delay_seconds", -1),
    ("delay_seconds", 1e308),
    ("delay_seconds", float("nan")),
    ("delay_seconds", 10**400),
    ("delay_seconds", "5"),
    ("run_at", "tomorrow"),
    ("run_at", "2027-02-30T00:00:00Z"),
    ("run_at", "2027-03-14T07:00:00"),
    ("run_at", datetime(2027, 3, 14)),  # noqa: DTZ001
    ("run_at", datetime(9999, 1, 1, tzinfo=UTC)),
    ("run_at", "0001-01-01T00:00:00+23:00"),
    ("run_at", 1),
    ("unique_key", ""),
    ("unique_key", "k" * 256),
    ("unique_key", "k\x00"),
    ("labels", ["red"]),
    ("labels", {str(n): "x" for n in range(33)}),
    ("depends_on", "all"),
    ("depends_on", ["one"]),
    ("depends_on", [7]),
    ("on_parent_failure", "ignore"),
    ("on_parent_failure", ["run"]),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_what_is_wrong_is_named_and_nothing_is_made(queue, field, value):
    with pytest.raises(BadInput) as refusal:
        submit(queue, **{field: value})
    inside = "/0" if field == "depends_on" and isinstance(value, list) else ""
    assert pointers(refusal) == [f"#/{field}{inside}"]
    assert not told("job.enqueued")


@pytest.mark.parametrize(
    ("label", "pointer"),
    [
        ({"shape": "round", "colour": 7}, "#/labels/colour"),
        ({"colour": "\x00"}, "#/labels/colour"),
        ({"colour": "r" * 256}, "#/labels/colour"),
        ({"a/b~c": None}, "#/labels/a~1b~0c"),
        ({"": "red"}, "#/labels/"),
        ({7: "red"}, "#/labels/7"),
        ({"a\x00": "red"}, "#/labels/a\ufffd"),
        ({"\ud800": "red"}, "#/labels/?"),
        ({"n" * 129: "red"}, "#/labels/" + "n" * 129),
    ],
)
def test_a_label_that_is_wrong_is_named(queue, label, pointer):
    with pytest.raises(BadInput) as refusal:
        submit(queue, labels=label)
    assert pointers(refusal) == [pointer]
    assert not told("job.enqueued")


def test_everything_wrong_is_named_at_once(queue):
    with pytest.raises(BadInput) as refusal:
        submit(queue, priority="high", max_attempts=0, payload={"x": float("nan")})
    assert sorted(pointers(refusal)) == ["#/max_attempts", "#/payload", "#/priority"]


def test_the_longest_of_everything_fits(queue):
    job = submit(
        queue,
        type="t" * 128,
        unique_key="k" * 255,
        labels={f"{n:0128}": "v" * 255 for n in range(32)},
        priority=1000,
        max_attempts=1000,
        max_losses=1000,
        timeout_ms=30 * 86_400_000,
        delay_seconds=100 * 366 * 86_400,
    )
    assert job.state == "scheduled"


def test_an_unknown_parent_is_refused_by_name(queue):
    for nobody in (uuid7(), UUID(int=0), UUID(int=2**128 - 1)):
        with pytest.raises(BadInput, match=str(nobody)) as refusal:
            submit(queue, depends_on=[nobody])
        assert pointers(refusal) == ["#/depends_on/0"]


def test_a_job_may_wait_for_its_time(queue, session):
    at = timezone.now() + timedelta(hours=1)
    job = submit(queue, run_at=at)
    assert (job.state, job.run_at) == ("scheduled", at)
    assert not take(session, queue)


def test_a_time_is_read_in_the_zone_it_names(queue):
    job = submit(queue, run_at="2099-03-14T07:00:00+02:00")
    assert job.run_at == datetime(2099, 3, 14, 5, tzinfo=UTC)


def test_a_delay_counts_from_the_databases_now(queue):
    job = submit(queue, delay_seconds=90.5)
    assert (job.state, job.run_at - job.created_at) == ("scheduled", timedelta(seconds=90.5))


def test_no_delay_is_no_wait(queue):
    assert submit(queue, delay_seconds=0).state == "queued"


def test_a_time_and_a_delay_together_are_refused(queue):
    with pytest.raises(BadInput) as refusal:
        submit(queue, run_at=timezone.now(), delay_seconds=1)
    assert pointers(refusal) == ["#/delay_seconds"]


def test_it_is_told_once_with_the_state_it_waits_in(queue):
    now, later = submit(queue), submit(queue, delay_seconds=60)
    assert [(one.state, one.job_ids, one.project_id) for one in told("job.enqueued")] == [
        ("queued", [now.id], queue.project_id),
        ("scheduled", [later.id], queue.project_id),
    ]


def test_it_remembers_the_request_that_submitted_it(queue, session):
    with structlog.contextvars.bound_contextvars(request_id="request-7"):
        job = submit(queue)
    assert job.request_id == "request-7"
    assert take_one(session, queue).request_id == "request-7"


def test_a_queue_of_another_project_keeps_its_own_line(queue, session):
    other = QueueFactory.create(project=ProjectFactory.create(organization=queue.project.organization), name=queue.name)
    submit(queue)
    assert not take(session, other)
