"""A tick of a schedule becomes a job, once, and stands in the ledger."""

from datetime import timedelta

import pytest

from apps.errors import Conflict
from apps.jobs import cron, loops, services
from apps.jobs.engine import cron as engine
from apps.jobs.engine.prune import prune_ticks
from apps.jobs.loops import CRON_SECONDS
from tests.acts import finish, take_one
from tests.jobs.looks import ANN, look, run, told_of
from tests.jobs.schedules import (
    MINUTELY,
    again,
    come_due,
    fire,
    job_ids,
    jobs,
    ledger,
    make_schedule,
    now,
    outcomes,
    said,
    ticks,
)


def test_a_tick_makes_a_job_of_what_the_schedule_says(queue):
    nightly = make_schedule(queue, payload={"n": 1}, priority=7)
    at = come_due(nightly)
    assert fire() == 1
    [job] = jobs(nightly)
    assert (job.queue_id, job.type, job.payload, job.priority, job.state) == (queue.pk, "ping", {"n": 1}, 7, "queued")
    assert told_of(job.pk) == ["job.enqueued"]
    [tick] = ticks(nightly)
    assert (tick.scheduled_for, tick.outcome, tick.job_id, tick.why) == (at, "fired", job.pk, "")
    assert again(nightly).last_job_id == job.pk


def test_a_schedule_goes_on_to_its_next_tick(queue):
    nightly = make_schedule(queue, MINUTELY)
    come_due(nightly)
    fire()
    assert now() < again(nightly).next_run_at <= now() + timedelta(minutes=1)


def test_a_schedule_that_is_not_due_does_nothing(queue):
    nightly = make_schedule(queue)
    before = again(nightly).next_run_at
    assert (fire(), jobs(nightly), again(nightly).next_run_at) == (0, [], before)


def test_its_priority_is_the_queues_unless_said(queue):
    queue.default_priority = 3
    queue.save()
    nightly = make_schedule(queue)
    come_due(nightly)
    fire()
    assert jobs(nightly)[0].priority == 3


def test_a_tick_that_stands_in_the_ledger_makes_no_second_job(queue, session):
    nightly = make_schedule(queue)
    at = come_due(nightly)
    fire()
    finish(session, take_one(session, queue))
    run("UPDATE jobs_schedule SET next_run_at = %s", [at])  # a copy that lagged behind took over, say
    fire()
    assert outcomes(nightly) == ["fired"]
    assert len(jobs(nightly)) == 1
    assert again(nightly).next_run_at > now()


def test_jitter_delays_the_job_and_not_the_tick(queue):
    nightly = make_schedule(queue, jitter_seconds=3600)
    at = come_due(nightly)
    fire()
    [job] = jobs(nightly)
    delay = cron.jitter(nightly.pk, at, 3600)
    assert timedelta() <= delay < timedelta(hours=1)
    assert job.run_at == max(at + delay, job.created_at)
    assert [(one.scheduled_for, one.outcome) for one in ticks(nightly)] == [(at, "fired")]


def test_jitter_spreads_over_all_of_its_time(queue):
    nightly = make_schedule(queue)
    delays = [cron.jitter(nightly.pk, now() + timedelta(minutes=n), 60).total_seconds() for n in range(300)]
    assert 0 <= min(delays) < 5
    assert 55 < max(delays) < 60


def test_a_paused_schedule_does_not_fire(queue):
    nightly = make_schedule(queue)
    services.pause_schedule(schedule=nightly, actor=ANN, reason="holidays")
    come_due(nightly)
    assert (fire(), jobs(nightly)) == (0, [])
    assert [one["reason"] for one in said("schedule.paused")] == ["holidays"]


def test_a_full_queue_and_a_type_it_does_not_take_are_why_a_tick_is_skipped(queue):
    nightly = make_schedule(queue)
    queue.allowed_types = ["pong"]
    queue.save()
    come_due(nightly)
    fire()
    queue.allowed_types, queue.max_depth = None, 1
    queue.save()
    run(
        "INSERT INTO queues_depth (queue_id, queued, running, measured_at) VALUES (%s, 1, 0, clock_timestamp())",
        [queue.pk],
    )
    come_due(nightly)
    fire()
    assert outcomes(nightly) == ["skipped", "skipped"]
    first, second = (one.why for one in ticks(nightly))
    assert "does not take this type" in first
    assert "holds 1 jobs of at most 1" in second
    assert again(nightly).next_run_at > now()


def test_what_runs_now_leaves_the_next_tick_where_it_was(queue):
    daily = make_schedule(queue, jitter_seconds=3600)
    before = again(daily).next_run_at
    services.run_schedule(schedule=daily, actor=ANN)
    [job] = jobs(daily)
    assert job.state == "queued"
    assert (again(daily).next_run_at, again(daily).last_job_id) == (before, job.pk)
    [tick] = ticks(daily)
    assert (tick.outcome, tick.why) == ("fired", "Run by ann@example.com.")


def test_a_paused_schedule_may_be_run_by_hand(queue):
    daily = make_schedule(queue)
    services.pause_schedule(schedule=daily, actor=ANN)
    services.run_schedule(schedule=daily, actor=ANN)
    assert len(jobs(daily)) == 1


def test_running_by_hand_keeps_the_promise_not_to_overlap(queue, session):
    daily = make_schedule(queue)
    services.run_schedule(schedule=daily, actor=ANN)
    with pytest.raises(Conflict, match=str(job_ids(daily)[0])):
        services.run_schedule(schedule=daily, actor=ANN)
    assert len(jobs(daily)) == len(ledger(daily)) == 1
    finish(session, take_one(session, queue))
    services.run_schedule(schedule=daily, actor=ANN)
    assert len(jobs(daily)) == 2


def test_a_deleted_schedule_leaves_its_jobs(queue):
    nightly = make_schedule(queue)
    come_due(nightly)
    fire()
    [job] = jobs(nightly)
    services.delete_schedule(schedule=nightly, actor=ANN)
    assert look(job.pk).state == "queued"


def test_old_ticks_are_forgotten_but_for_those_whose_deadline_nobody_judged(queue):
    nightly, other = make_schedule(queue, deadline_seconds=60), make_schedule(queue, name="other")
    for schedule in (nightly, other):
        come_due(schedule)
        fire()
    run("UPDATE jobs_tick SET scheduled_for = scheduled_for - interval '91 days'")
    assert prune_ticks() == 1
    assert (len(ledger(nightly)), len(ledger(other))) == (1, 0)


def test_the_loop_sleeps_until_the_next_tick_and_no_longer_than_a_second(queue):
    nightly = make_schedule(queue)
    assert loops.fire_schedules() > CRON_SECONDS  # which the runner cuts down
    run("UPDATE jobs_schedule SET next_run_at = clock_timestamp() + interval '0.5 s'")
    assert 0 < loops.fire_schedules() < 0.6
    services.delete_schedule(schedule=nightly, actor=ANN)
    assert loops.fire_schedules() == CRON_SECONDS


def test_a_hundred_are_fired_at_once_and_the_rest_in_the_next_turn(queue):
    many = [make_schedule(queue, name=f"n{n}") for n in range(5)]
    come_due(*many)
    assert [services.fire_due(limit=3) for _ in range(3)] == [3, 2, 0]
    assert all(outcomes(one) == ["fired"] for one in many)


def test_what_is_on_time_comes_before_what_is_long_due(queue):
    old, young = make_schedule(queue, name="old"), make_schedule(queue, name="young")
    come_due(old, ago=timedelta(days=365))
    come_due(young)
    assert [one.id for one in engine.due(limit=1)] == [young.pk]
