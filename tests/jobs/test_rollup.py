"""How attempts ended is summed up by queue and minute, from the ledger alone: late rows count, and a second time changes nothing."""

import math
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils.timezone import now

from apps.jobs.engine.prune import prune_minutes
from apps.jobs.engine.replay import replay
from apps.jobs.engine.rollup import SLOTS, percentile, rollup
from apps.jobs.models import Rollup
from apps.queues.models import MinuteStat, Queue
from tests import acts
from tests.factories import QueueFactory
from tests.jobs.looks import run

pytestmark = pytest.mark.django_db
FAILURES = ("retryable_error", "permanent_error", "timeout", "lost", "crashed")


def sum_up(**options: Any) -> None:
    """As if the last turn were a while ago, and as often as there is something left."""
    Rollup.objects.update(rolled_at=F("rolled_at") - timedelta(seconds=30))
    while (turn := rollup(**options)) and turn.is_behind:
        pass


def end(session: Any, queue: Queue, *outcomes: str) -> None:
    for outcome in outcomes:
        acts.enqueue(queue)
        acts.finish(session, acts.take_one(session, queue), outcome=outcome)


def put(queue: Queue, *, ago: float, wait_ms: float = 0, run_ms: float = 0, count: int = 1) -> None:
    """Write rows of the ledger that ended so many seconds ago."""
    run(
        "INSERT INTO jobs_attempt (id, job_id, queue_id, fence, run_at, started_at, finished_at, generation, attempt, outcome)"
        " SELECT gen_random_uuid(), gen_random_uuid(), %s, 1, ends - %s * interval '1 ms' - %s * interval '1 ms',"
        " ends - %s * interval '1 ms', ends, 1, 1, 'success'"
        " FROM (SELECT clock_timestamp() - %s * interval '1 s' AS ends) AS moment, generate_series(1, %s)",
        [queue.pk, run_ms, wait_ms, run_ms, ago, count],
    )


def total(queue: Queue, name: str) -> int:
    return sum(MinuteStat.objects.filter(queue=queue).values_list(name, flat=True))


def test_each_way_to_end_is_counted_once(queue, session):
    other = QueueFactory.create(project=queue.project)
    end(session, queue, "success", "success", *FAILURES, "snoozed", "cancelled")
    end(session, other, "success")
    sum_up()
    assert [total(queue, name) for name in ("completed", "failed", "dead_lettered", "lost")] == [2, 5, 1, 1]
    assert total(other, "completed") == 1


def test_a_second_time_changes_nothing(queue, session):
    end(session, queue, "success", "permanent_error")
    sum_up()
    before = list(MinuteStat.objects.values())
    Rollup.objects.update(rolled_at=F("rolled_at") - timedelta(seconds=30))
    turn = rollup()
    assert turn
    assert turn.queues == []
    assert list(MinuteStat.objects.values()) == before


def test_nobody_sums_up_again_right_after_somebody_has(queue, session):
    sum_up()
    assert rollup() is None


def test_what_comes_to_light_late_is_counted_in_its_minute(queue, session):
    """Its transaction was open when its minute was summed up."""
    put(queue, ago=180)
    sum_up()
    assert total(queue, "completed") == 1
    Rollup.objects.update(settled_at=now() - timedelta(seconds=200))  # as left by a turn that saw the writer at work
    put(queue, ago=180)
    sum_up()
    assert total(queue, "completed") == 2


def test_a_dead_letter_that_was_replayed_has_died_all_the_same(queue, session):
    acts.enqueue(queue)
    claim = acts.take_one(session, queue)
    acts.finish(session, claim, outcome="permanent_error")
    sum_up()
    replay(delays_ms={claim.job_id: 0})
    acts.finish(session, acts.take_one(session, queue))
    sum_up()
    assert (total(queue, "dead_lettered"), total(queue, "completed")) == (1, 1)


def test_a_pause_of_all_schedulers_is_made_good_a_quarter_of_an_hour_at_once(queue):
    sum_up()
    Rollup.objects.update(settled_at=now() - timedelta(hours=2), rolled_at=now() - timedelta(hours=2))
    for ago in (60, 3000, 7000):
        put(queue, ago=ago)
    turns = 0
    while turn := rollup():
        turns += 1
        if not turn.is_behind:
            break
    assert total(queue, "completed") == 3
    assert 8 <= turns <= 10


def test_percentiles_and_histograms_say_how_long_jobs_waited_and_ran(queue):
    for ms in range(1, 101):
        put(queue, ago=1, wait_ms=ms * 10, run_ms=ms)
    sum_up()
    stats = list(MinuteStat.objects.filter(queue=queue))
    merged = [sum(slot) for slot in zip(*[stat.run_histogram or [] for stat in stats], strict=True)]
    assert len(merged) == SLOTS
    assert sum(merged) == 100
    assert percentile(merged, 0.95) == pytest.approx(95, rel=0.2)
    assert percentile(merged, 0.5) == pytest.approx(50, rel=0.2)
    if len(stats) == 1:  # the minute did not end meanwhile
        assert stats[0].run_p95_ms == pytest.approx(95.05)
        assert stats[0].wait_p50_ms == pytest.approx(505)


def test_every_time_has_a_slot_and_comes_back_out_of_it(queue):
    for ms in (0, 0.4, 1, 1.5, 1000, 10**12):
        MinuteStat.objects.all().delete()
        run("DELETE FROM jobs_attempt")
        Rollup.objects.all().delete()
        put(queue, ago=1, run_ms=ms)
        sum_up()
        found = percentile(MinuteStat.objects.get(queue=queue).run_histogram or [], 0.5)
        assert found is not None
        assert found <= 2 ** (SLOTS / 2)
        assert ms < 1 or ms > 2**27 or math.sqrt(0.5) <= found / ms <= math.sqrt(2)


def test_nothing_has_no_percentile():
    assert percentile([], 0.95) is percentile([0] * SLOTS, 0.95) is None


def test_minutes_of_long_ago_are_forgotten(queue):
    for days in (1, 89, 91, 200):
        MinuteStat.objects.create(queue=queue, minute=now() - timedelta(days=days))
    assert prune_minutes() == 2
    assert MinuteStat.objects.count() == 2
