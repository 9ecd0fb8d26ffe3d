"""How queues do: a word and a reason for each, what they hold, and their minutes."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils.timezone import now

from apps.jobs.engine.rollup import SLOTS
from apps.queues.models import Gate, MinuteStat, Queue
from tests import acts
from tests.api.caller import pointers
from tests.factories import QueueFactory
from tests.jobs.aims import workflow
from tests.jobs.looks import let_wait
from tests.jobs.test_reservations import bound

pytestmark = pytest.mark.django_db


@pytest.fixture
def health(viewer, queue) -> Any:
    def ask() -> dict[str, Any]:
        [told] = viewer.get(f"projects/{queue.project_id}/queue-health").json()["results"]
        return dict(told)

    return ask


def test_an_empty_queue_is_idle(health, queue, session):
    told = health()
    assert (told["queue"], told["health"], told["reason"]) == (queue.name, "idle", "")
    assert told["depth"] == {"total": 0, "high": 0, "normal": 0, "low": 0, "capped": False}
    assert (told["oldest_ready_seconds"], told["p95_ms"], told["live_workers"]) == (None, None, 1)
    assert told["last_hour"] == {"completed": 0, "failed": 0, "dead_lettered": 0}


def test_what_waits_is_told_by_tier_and_what_runs_is_in_flight(health, queue, session):
    acts.enqueue(queue)
    acts.take_one(session, queue)
    for priority in (5, 0, 0, -1):
        acts.enqueue(queue, priority=priority)
    told = health()
    assert told["depth"] == {"total": 4, "high": 1, "normal": 2, "low": 1, "capped": False}
    assert (told["in_flight"], told["health"]) == (1, "moving")


def test_what_waits_for_one_worker_or_its_key_waits_too(health, queue, session):
    acts.enqueue(queue, placement="job", required_worker=session.worker_id)
    for _ in range(2):
        acts.enqueue(queue, priority=1, concurrency_key="k")
    assert health()["depth"] == {"total": 3, "high": 2, "normal": 1, "low": 0, "capped": False}


def test_nobody_serves_it(health, queue):
    acts.enqueue(queue)
    told = health()
    assert (told["health"], told["starved"]) == ("stuck", True)
    assert told["reason"] == "no live worker serves this queue"


def test_a_reserved_worker_serves_no_open_line(health, queue, session):
    acts.enqueue(queue)
    assert health()["live_workers"] == 1
    bound(workflow(queue)[0], session)
    assert (health()["live_workers"], health()["reason"]) == (0, "no live worker serves this queue")


def test_the_first_waits_too_long_and_why(health, queue, session):
    Queue.objects.update(max_concurrency=1)
    acts.enqueue(queue)
    acts.take_one(session, queue)
    let_wait(acts.enqueue(queue), 600)
    told = health()
    assert (told["health"], told["saturated"]) == ("late", True)
    assert told["reason"] == "all 1 slots of its cap are in use"
    assert told["oldest_ready_seconds"] == pytest.approx(600, abs=30)


def test_a_pause_and_a_breaker_come_first(health, queue, session):
    let_wait(acts.enqueue(queue), 600)
    Gate.objects.create(queue=queue, shard=0, breaker="open", reopens_at=now() + timedelta(hours=1))
    assert (health()["health"], health()["breaker"]) == ("tripped", "open")
    Queue.objects.update(paused_at=now(), pause_reason="the printer burns")
    assert (health()["health"], health()["reason"]) == ("paused", "the printer burns")


def test_a_rate_without_a_token_is_told(health, queue):
    Queue.objects.update(rate_per_second=0.001, burst=1)
    Gate.objects.create(queue=queue, shard=0, tokens=0, refilled_at=now())
    assert health()["rate_limited"]
    Gate.objects.update(tokens=1)
    assert not health()["rate_limited"]


def test_the_last_hour_is_added_up_from_its_minutes(health, queue):
    runs = [0] * SLOTS
    runs[15] = 10
    for ago in (2, 30, 90):
        MinuteStat.objects.create(
            queue=queue,
            minute=now() - timedelta(minutes=ago),
            completed=10,
            failed=2,
            dead_lettered=1,
            run_histogram=runs,
        )
    told = health()
    assert told["last_hour"] == {"completed": 20, "failed": 4, "dead_lettered": 2}
    assert 2**7 < told["p95_ms"] < 2**7.5


def test_queues_are_paged(viewer, queue):
    for _ in range(4):
        QueueFactory.create(project=queue.project)
    QueueFactory.create()
    seen, path = [], f"projects/{queue.project_id}/queue-health?limit=2"
    while path:
        page = viewer.get(path).json()
        seen += [one["id"] for one in page["results"]]
        path = page["next"] and page["next"].partition("/api/v1/")[2]
    assert seen == sorted(seen, reverse=True)
    assert len(set(seen)) == 5
    back = viewer.get(page["previous"].partition("/api/v1/")[2]).json()["results"]
    assert [one["id"] for one in back] == seen[2:4]


def test_a_queue_is_counted_by_state(viewer, queue, session):
    acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error")
    acts.enqueue(queue, delay_ms=60_000)
    acts.enqueue(queue)
    acts.enqueue(QueueFactory.create(project=queue.project))
    told = viewer.get(f"stats/queues/{queue.pk}").json()
    held = {state: count for state, count in told["counts"].items() if count}
    assert held == {"queued": 1, "scheduled": 1, "dead_letter": 1}
    assert told["oldest_ready_seconds"] >= 0


def test_every_minute_comes_once_quiet_ones_too(viewer, queue):
    minute = now().replace(second=0, microsecond=0) - timedelta(minutes=2)
    MinuteStat.objects.create(queue=queue, minute=minute, completed=3, failed=1, run_p95_ms=12.5)
    told = viewer.get(f"stats/queues/{queue.pk}/series?minutes=5").json()["minutes"]
    assert len(told) == 5
    assert [one["minute"] for one in told] == sorted(one["minute"] for one in told)
    assert sum(one["completed"] for one in told) == 3
    [busy] = [one for one in told if one["failed"]]
    assert (busy["run_p95_ms"], busy["wait_p50_ms"]) == (12.5, None)
    assert len(viewer.get(f"stats/queues/{queue.pk}/series").json()["minutes"]) == 60


@pytest.mark.parametrize("minutes", ["0", "1441", "x", ""])
def test_minutes_are_a_number_in_bounds(viewer, queue, minutes):
    assert pointers(viewer.get(f"stats/queues/{queue.pk}/series?minutes={minutes}")) == ["?minutes"]


def test_minutes_older_than_asked_are_left_out(viewer, queue):
    MinuteStat.objects.create(queue=queue, minute=now().replace(second=0, microsecond=0), completed=1)
    MinuteStat.objects.update(minute=F("minute") - timedelta(minutes=10))
    told = viewer.get(f"stats/queues/{queue.pk}/series?minutes=5").json()["minutes"]
    assert sum(one["completed"] for one in told) == 0
