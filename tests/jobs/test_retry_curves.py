"""How long a failed job waits before it is tried again: every curve, exactly where jitter is off."""

from datetime import timedelta
from typing import Any

import pytest

from apps.audit.models import Outbox
from apps.jobs import services
from tests.acts import enqueue, finish, take, take_one
from tests.factories import RetryPolicyFactory
from tests.jobs.looks import as_if_tried, come_round, look, wait_of

S, MINUTE, HOUR = 1000, 60_000, 3_600_000

PLAIN: dict[str, tuple[dict[str, Any], dict[int, int]]] = {
    "fixed": ({"base_delay_ms": 250}, {1: 250, 2: 250, 9: 250}),
    "linear": ({"base_delay_ms": 250}, {1: 250, 2: 500, 3: 750, 9: 2250}),
    "exponential": ({"base_delay_ms": S}, {1: S, 2: 2 * S, 3: 4 * S, 4: 8 * S, 8: 128 * S}),
    "quartic": (
        {"base_delay_ms": 15 * S, "max_delay_ms": HOUR},
        {1: 15 * S, 2: 16 * S, 3: 31 * S, 4: 96 * S, 5: 271 * S, 8: 2416 * S},
    ),
    "intervals": ({"intervals_ms": [7, 70, 700]}, {1: 7, 2: 70, 3: 700}),
}
CASES = [(kind, n, ms) for kind, (_, delays) in PLAIN.items() for n, ms in delays.items()]


@pytest.fixture
def follow(queue):
    """Give the queue a policy, without jitter unless it is asked for."""

    def give(**fields):
        queue.retry_policy = RetryPolicyFactory.create(
            **{"project": queue.project, "jitter": False, "max_attempts": 1000, **fields}
        )
        queue.save()
        return queue.retry_policy

    return give


def wait_after(n, queue, session, *, outcome="retryable_error", state="retry_wait", **fields) -> float:
    """The milliseconds a job waits after its n-th attempt."""
    job_id = enqueue(queue, max_attempts=1000, **fields)
    as_if_tried(job_id, n - 1)
    taken = take_one(session, queue)
    assert (taken.job_id, taken.attempt) == (job_id, n)
    [done] = finish(session, taken, outcome=outcome)
    assert done.state == state
    assert look(job_id).run_at == done.run_at
    return wait_of(done) / timedelta(milliseconds=1)


@pytest.mark.parametrize(("kind", "n", "ms"), CASES)
def test_a_curve_without_jitter_is_exact(queue, session, follow, kind, n, ms):
    follow(kind=kind, **PLAIN[kind][0])
    assert wait_after(n, queue, session) == ms


@pytest.mark.parametrize(
    ("kind", "n"), [("linear", 9), ("exponential", 3), ("exponential", 999), ("quartic", 999), ("fixed", 1)]
)
def test_no_curve_rises_above_its_ceiling(queue, session, follow, kind, n):
    follow(kind=kind, base_delay_ms=S, max_delay_ms=999)
    assert wait_after(n, queue, session) == 999


def test_the_largest_base_and_ceiling_are_no_trouble(queue, session, follow):
    follow(kind="exponential", base_delay_ms=10**12, max_delay_ms=10**12)
    assert wait_after(999, queue, session) == 10**12


def test_a_base_of_nothing_is_no_wait(queue, session, follow):
    follow(kind="exponential", base_delay_ms=0)
    assert wait_after(5, queue, session, state="queued") == 0


def test_what_is_due_already_is_told_as_queued_and_can_be_claimed(queue, session, follow):
    """Nobody has to promote it: a crashed job with no back-off runs again at once."""
    follow(kind="fixed", base_delay_ms=0)
    job_id = enqueue(queue)
    for outcome in ("crashed", "retryable_error"):
        [done] = finish(session, take_one(session, queue), outcome=outcome)
        assert done.state == "queued"
        [told] = Outbox.objects.order_by("-id")[:1]
        assert (told.kind, told.state, told.job_ids) == ("job.queued", "queued", [job_id])
    [later] = finish(session, take_one(session, queue), outcome="snoozed", delay_ms=0)
    assert later.state == "queued"
    assert take_one(session, queue).job_id == job_id


def test_listed_intervals_mean_what_they_say_whatever_the_ceiling(queue, session, follow):
    follow(kind="intervals", intervals_ms=[HOUR, 24 * HOUR])
    assert wait_after(2, queue, session) == 24 * HOUR


def test_after_the_last_interval_it_repeats(queue, session, follow):
    follow(kind="intervals", intervals_ms=[7, 70])
    assert wait_after(5, queue, session) == 70


def test_so_many_intervals_are_so_many_retries(queue, session, follow):
    follow(kind="intervals", intervals_ms=[7, 70])
    job_id = enqueue(queue)
    for _ in range(3):
        finish(session, take_one(session, queue), outcome="retryable_error")
        come_round(job_id)
    assert (look(job_id).state, look(job_id).attempt) == ("dead_letter", 3)


def test_a_policy_may_allow_fewer_attempts_than_it_lists_and_a_job_more(queue, follow):
    follow(kind="intervals", intervals_ms=[7, 70, 700], max_attempts=2)
    assert services.submit(queue=queue, type="ping").max_attempts == 2
    assert services.submit(queue=queue, type="ping", max_attempts=9).max_attempts == 9


@pytest.mark.parametrize(("kind", "fields", "plain", "ceiling"), [
    ("fixed", {"base_delay_ms": S}, S, 300 * S),
    ("exponential", {"base_delay_ms": S}, 2 * S, 300 * S),
    ("linear", {"base_delay_ms": S, "max_delay_ms": 2 * S}, 2 * S, 2 * S),
    ("quartic", {"base_delay_ms": S}, 2 * S, 300 * S),
    ("intervals", {"intervals_ms": [1, 600 * S]}, 600 * S, 750 * S),
])  # fmt: skip
def test_jitter_spreads_by_a_quarter_but_never_above_the_ceiling(queue, session, follow, kind, fields, plain, ceiling):
    follow(kind=kind, jitter=True, **fields)
    session.concurrency = 60
    session.save()
    jobs = [enqueue(queue, max_attempts=9) for _ in range(60)]
    for job_id in jobs:
        as_if_tried(job_id, 1)
    done = finish(session, *take(session, queue, limit=60), outcome="retryable_error")
    waits = [wait_of(one) / timedelta(milliseconds=1) for one in done]
    assert plain * 0.75 <= min(waits) < max(waits) <= min(plain * 1.25, ceiling)
    assert len(set(waits)) > 10


def test_without_a_policy_it_is_exponential_from_a_second_with_jitter_up_to_five_minutes(queue, session):
    assert 750 <= wait_after(1, queue, session) <= 1250
    assert 3000 <= wait_after(3, queue, session) <= 5000
    assert 225 * S <= wait_after(30, queue, session) <= 300 * S


def test_the_setting_makes_the_default_a_list(queue, session, settings):
    settings.JOB_RETRY_INTERVALS = [1, 5, 3600]
    job_id = services.submit(queue=queue, type="ping").id
    waits = []
    for _ in range(3):
        [done] = finish(session, take_one(session, queue), outcome="retryable_error")
        waits.append(wait_of(done).total_seconds())
        come_round(job_id)
    assert waits == [1, 5, 3600]  # 3600 is above the ceiling of the curve it replaces
    [done] = finish(session, take_one(session, queue), outcome="retryable_error")
    assert done.state == "dead_letter"


def test_a_policy_counts_more_than_the_setting(queue, session, settings, follow):
    settings.JOB_RETRY_INTERVALS = [1, 5, 3600]
    follow(kind="fixed", base_delay_ms=250)
    assert wait_after(1, queue, session) == 250


def test_the_jobs_own_policy_counts_more_than_its_queues(queue, session, follow):
    own = RetryPolicyFactory.create(project=queue.project, kind="fixed", base_delay_ms=77, jitter=False)
    follow(kind="fixed", base_delay_ms=250)
    assert wait_after(1, queue, session, retry_policy_id=own.id) == 77
    assert wait_after(1, queue, session) == 250


def test_a_changed_policy_counts_from_the_next_failure_on(queue, session, follow):
    policy = follow(kind="fixed", base_delay_ms=250)
    enqueue(queue)
    taken = take_one(session, queue)
    policy.base_delay_ms = 500
    policy.save()
    [done] = finish(session, taken, outcome="retryable_error")
    assert wait_of(done) == timedelta(milliseconds=500)


@pytest.mark.parametrize("outcome", ["lost", "crashed", "timeout"])
def test_a_lost_a_crashed_and_a_late_attempt_wait_by_the_same_curve(queue, session, follow, outcome):
    follow(kind="linear", base_delay_ms=250, max_losses=9)
    assert wait_after(2, queue, session, outcome=outcome) == 500
