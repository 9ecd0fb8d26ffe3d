"""What becomes of ticks that no scheduler was there for. Case H13."""

import time
from datetime import timedelta

import pytest
from django.conf import settings

from apps.jobs.states import CatchUp, Overlap
from tests.jobs.schedules import MINUTELY, again, come_due, fire, jobs, make_schedule, now, outcomes, ticks

YEAR, DAY = timedelta(days=365), timedelta(days=1)
GRACE = timedelta(seconds=settings.CRON_GRACE_SECONDS)


@pytest.mark.parametrize("policy", list(CatchUp))
def test_a_year_behind_is_made_up_for_at_once_and_never_played_back(queue, policy):
    minutely = make_schedule(queue, MINUTELY, catchup_policy=policy, overlap_policy=Overlap.QUEUE, catchup_max=3)
    come_due(minutely, ago=YEAR)
    began = time.thread_time()
    fire()
    assert time.thread_time() - began < 1  # of the processor
    assert len(jobs(minutely)) == (3 if policy == CatchUp.FIRE_ALL else 1)
    assert now() < again(minutely).next_run_at <= now() + timedelta(minutes=1)


def test_the_ledger_lists_the_last_hundred_and_says_where_it_left_some_out(queue):
    minutely = make_schedule(queue, MINUTELY)
    began = come_due(minutely, ago=YEAR)
    fire()
    first, second, *_ = ticks(minutely)
    assert outcomes(minutely) == ["missed"] * 100 + ["fired"]
    assert (first.scheduled_for, second.scheduled_for > now() - timedelta(minutes=101)) == (began, True)
    assert f"until {second.scheduled_for:%F %T} UTC are not listed" in first.why
    assert "not listed" not in second.why


def test_a_tick_that_is_a_little_late_fires_all_the_same(queue):
    daily = make_schedule(queue)
    at = come_due(daily, ago=timedelta(seconds=7))
    fire()
    assert [(one.scheduled_for, one.outcome) for one in ticks(daily)] == [(at, "fired")]


@pytest.mark.parametrize(
    ("ago", "found"), [(GRACE - timedelta(seconds=5), "fired"), (GRACE + timedelta(seconds=5), "missed")]
)
def test_how_late_it_may_be_is_a_setting(queue, ago, found):
    daily = make_schedule(queue)
    come_due(daily, ago=ago)
    fire()
    assert outcomes(daily) == [found]


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        (CatchUp.SKIP, ["missed", "missed", "missed"]),
        (CatchUp.FIRE_ONCE, ["missed", "missed", "fired"]),
        (CatchUp.FIRE_ALL, ["missed", "fired", "fired"]),
    ],
)
def test_three_days_of_a_daily_one(queue, policy, found):
    at = now() - timedelta(hours=1)
    daily = make_schedule(
        queue, f"{at.minute} {at.hour} * * *", catchup_policy=policy, catchup_max=2, overlap_policy=Overlap.QUEUE
    )
    come_due(daily, ago=now() - at.replace(second=0, microsecond=0) + 2 * DAY)
    fire()
    assert outcomes(daily) == found
    assert len(jobs(daily)) == found.count("fired")
    assert all(one.why for one in ticks(daily) if one.outcome == "missed")


def test_a_thousand_a_year_behind_do_not_keep_the_one_that_is_on_time(queue):
    many = [make_schedule(queue, MINUTELY, name=f"n{n}") for n in range(30)]
    punctual = make_schedule(queue, name="punctual")
    come_due(*many, ago=YEAR)
    come_due(punctual)
    fire()
    assert len(jobs(punctual)) == 1
    assert all(len(jobs(one)) == 1 for one in many)


def test_no_job_is_made_while_one_before_runs_however_many_are_made_up_for(queue):
    minutely = make_schedule(
        queue, MINUTELY, catchup_policy=CatchUp.FIRE_ALL, catchup_max=3, overlap_policy=Overlap.SKIP
    )
    come_due(minutely, ago=timedelta(minutes=30))
    fire()
    assert outcomes(minutely)[-3:] == ["fired", "skipped", "skipped"]
    assert len(jobs(minutely)) == 1
