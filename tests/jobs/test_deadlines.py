"""An alarm for every tick that had no successful job by its deadline."""

from datetime import timedelta

import pytest

from apps.jobs import services
from apps.jobs.states import CatchUp
from tests.acts import finish, let_days_pass, take_one
from tests.jobs.looks import run, told
from tests.jobs.schedules import come_due, fire, job_ids, make_schedule, said, ticks


def pass_deadline(schedule, seconds=1):
    run(
        "UPDATE jobs_tick SET deadline_at = clock_timestamp() - %s::interval WHERE schedule_id = %s",
        [timedelta(seconds=seconds), schedule.pk],
    )


@pytest.fixture
def fired(queue):
    schedule = make_schedule(queue, deadline_seconds=60)
    come_due(schedule)
    fire()
    return schedule


def verdicts(schedule):
    return [one.late for one in ticks(schedule)]


def test_a_deadline_is_counted_from_the_tick(fired):
    [tick] = ticks(fired)
    assert tick.deadline_at == tick.scheduled_for + timedelta(seconds=60)


def test_before_its_deadline_nobody_asks(fired):
    assert (services.judge_deadlines(), verdicts(fired), told("schedule.late")) == (0, [None], [])


def test_a_job_that_succeeded_in_time_raises_no_alarm(queue, session, fired):
    finish(session, take_one(session, queue))
    run("UPDATE jobs_tick SET deadline_at = clock_timestamp(), scheduled_for = scheduled_for - interval '60 s'")
    services.judge_deadlines()
    assert (verdicts(fired), told("schedule.late")) == ([False], [])


@pytest.mark.parametrize("end", ["waits", "runs", "permanent_error", "cancelled", "success"])
def test_a_job_that_has_not_succeeded_by_then_raises_one_alarm(queue, session, fired, end):
    if end != "waits":
        taken = take_one(session, queue)
        if end != "runs":
            finish(session, taken, outcome=end)
    pass_deadline(fired, seconds=5)  # success: too late
    services.judge_deadlines()
    services.judge_deadlines()
    [tick] = ticks(fired)
    [event], [facts] = told("schedule.late"), said("schedule.late")
    assert tick.late is True
    assert event.queue_id == queue.pk
    assert facts["schedule"] == str(fired.pk)
    assert (facts["name"], facts["job"], facts["outcome"]) == (
        "nightly",
        str(job_ids(fired)[0]),
        "fired",
    )


def test_a_tick_without_a_job_raises_it_too(queue):
    missed = make_schedule(queue, name="missed", deadline_seconds=60, catchup_policy=CatchUp.SKIP)
    skipped = make_schedule(queue, name="skipped", deadline_seconds=60)
    come_due(missed, ago=timedelta(days=1))
    come_due(skipped)
    fire()
    come_due(skipped)
    fire()
    for schedule in (missed, skipped):
        pass_deadline(schedule)
    services.judge_deadlines()
    whys = {(one["name"], one["outcome"]): one["why"] for one in said("schedule.late")}
    assert set(whys) == {("missed", "missed"), ("skipped", "fired"), ("skipped", "skipped")}
    assert "has not ended" in whys["skipped", "skipped"]


def test_a_success_of_days_ago_is_found_on_its_shelf(queue, session, fired):
    taken = take_one(session, queue)
    finish(session, taken)
    let_days_pass(taken.job_id, 3)
    run(
        "UPDATE jobs_tick SET deadline_at = clock_timestamp() - interval '2 days',"
        " scheduled_for = scheduled_for - interval '4 days'"
    )
    services.judge_deadlines()
    assert verdicts(fired) == [False]


def test_without_a_deadline_there_is_no_alarm(queue):
    schedule = make_schedule(queue)
    come_due(schedule, ago=timedelta(days=1))
    fire()
    assert (services.judge_deadlines(), told("schedule.late")) == (0, [])
