"""Several schedulers at once, edits and runs by hand among them: a tick makes one job, and nobody waits for anybody."""

import time
from datetime import UTC, timedelta
from functools import partial

import pytest
from django.db import connection, transaction

from apps.errors import Conflict
from apps.jobs import services
from apps.jobs.engine.claim import Claim
from apps.jobs.models import Job, Schedule, Tick
from apps.jobs.states import Overlap
from apps.workers.models import Session
from tests.acts import finish, take_one
from tests.jobs.looks import ANN, run
from tests.jobs.schedules import again, come_due, fire, jobs, make_schedule, outcomes
from tests.races.stage import aside, meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def fire_all():
    while fire():
        pass


def test_four_schedulers_make_one_job_of_each_tick(queue):
    many = [make_schedule(queue, name=f"n{n}") for n in range(60)]
    for turn in (1, 2, 3):
        run("UPDATE jobs_schedule SET last_job_id = NULL")
        come_due(*many)
        together(*[fire_all] * 4)
        assert Job.objects.count() == Tick.objects.filter(outcome="fired").count() == 60 * turn
    assert all(len(jobs(one)) == 3 for one in many)


def test_schedulers_that_take_few_at_a_time_share_the_work(queue):
    come_due(*[make_schedule(queue, name=f"n{n}") for n in range(20)])
    counts = together(*[lambda: services.fire_due(limit=5)] * 4)
    assert sum(counts) == Job.objects.count() <= 20
    fire_all()
    assert Job.objects.count() == 20


def test_a_scheduler_that_dies_before_its_commit_leaves_the_tick_to_another(queue):
    schedule = make_schedule(queue)
    at = come_due(schedule)
    with transaction.atomic():
        assert fire() == 1
        assert aside(fire) == 0  # held: the other does not wait
        transaction.set_rollback(True)
    assert (jobs(schedule), again(schedule).next_run_at) == ([], at)
    assert fire() == 1
    assert outcomes(schedule) == ["fired"]


def test_a_schedule_that_is_being_edited_keeps_no_other_waiting(queue):
    edited, other = make_schedule(queue, name="edited"), make_schedule(queue, name="other")
    come_due(edited, other)
    with transaction.atomic():
        services.update_schedule(schedule=edited, actor=ANN, priority=3)
        assert aside(fire) == 1
    assert (len(jobs(other)), len(jobs(edited))) == (1, 0)
    fire()
    assert [one.priority for one in jobs(edited)] == [3]


def test_an_edit_that_meets_the_tick_finds_it_fired(queue):
    schedule = make_schedule(queue)
    come_due(schedule)
    with meanwhile(lambda: services.update_schedule(schedule=schedule, actor=ANN, cron_expr="5 * * * *")) as edit:
        fire()
    edit.result()
    assert (outcomes(schedule), again(schedule).next_run_at.minute) == (["fired"], 5)
    assert fire() == 0


def test_a_tick_that_meets_an_edit_does_not_fire_at_the_old_time(queue):
    schedule = make_schedule(queue)
    come_due(schedule)
    with transaction.atomic():
        services.update_schedule(schedule=schedule, actor=ANN, cron_expr="5 * * * *")
        assert aside(fire) == 0
    assert (fire(), outcomes(schedule)) == (0, ["missed"])


def test_two_who_run_it_by_hand_at_once_get_one_job(queue):
    schedule = make_schedule(queue)

    def by_hand():
        try:
            services.run_schedule(schedule=schedule, actor=ANN)
        except Conflict:
            return "refused"
        return "ran"

    assert sorted(together(*[by_hand] * 4)) == ["ran", *["refused"] * 3]
    assert len(jobs(schedule)) == 1


def test_a_tick_sees_the_job_that_was_run_by_hand_the_moment_before(queue):
    schedule = make_schedule(queue)
    come_due(schedule)
    with transaction.atomic():
        services.run_schedule(schedule=schedule, actor=ANN)
        assert aside(fire) == 0
    fire()
    assert sorted(outcomes(schedule)) == ["fired", "skipped"]


@pytest.mark.parametrize("policy", [Overlap.QUEUE, Overlap.CANCEL_RUNNING])
def test_a_job_that_somebody_holds_keeps_only_its_own_schedule_waiting(queue, policy):
    stuck, other = make_schedule(queue, name="stuck", overlap_policy=policy), make_schedule(queue, name="other")
    come_due(stuck)
    fire()
    come_due(stuck, other)
    with transaction.atomic():
        run("SELECT FROM jobs_job_live WHERE id = %s FOR UPDATE", [jobs(stuck)[0].pk])
        began = time.monotonic()
        assert aside(fire) == 1
        assert time.monotonic() - began < 2
        assert (len(jobs(other)), len(jobs(stuck))) == (1, 1)
    assert fire() == 1
    assert len(jobs(stuck)) == 2


def _end(session: Session, taken: Claim) -> int:
    return len(finish(session, taken))


def test_the_end_of_the_job_before_and_the_tick_that_waits_for_it_may_cross(queue, session):
    schedule = make_schedule(queue, overlap_policy=Overlap.QUEUE)
    for _ in range(5):
        come_due(schedule)
        fire()
        taken = take_one(session, queue)
        come_due(schedule)
        together(fire, partial(_end, session, taken))
        fire()  # where the lock was not to be had
        finish(session, take_one(session, queue))
    assert not Job.objects.filter(state="blocked").exists()
    assert Schedule.objects.get().trouble == ""


def test_a_deadline_is_judged_once(queue):
    many = [make_schedule(queue, name=f"n{n}", deadline_seconds=60) for n in range(10)]
    come_due(*many)
    fire()
    run("UPDATE jobs_tick SET deadline_at = clock_timestamp() - interval '1 s'")
    assert sum(together(*[services.judge_deadlines] * 4)) == 10
    assert run("SELECT count(*) FROM audit_outbox WHERE kind = 'schedule.late'") == [(10,)]


def test_the_zone_of_the_database_does_not_matter(queue, arena, settings):
    settings.TIME_ZONE = "Pacific/Auckland"
    run(f"ALTER DATABASE {arena.name} SET timezone = 'America/New_York'")
    try:
        connection.close()
        schedule = make_schedule(queue, "0 8 * * *", timezone="Pacific/Honolulu")
        due = again(schedule).next_run_at.astimezone(UTC)
        [(hour, ahead)] = run(
            "SELECT extract(hour FROM next_run_at AT TIME ZONE 'UTC')::int, next_run_at - clock_timestamp()"
            " FROM jobs_schedule"
        )
        assert (due.hour, hour) == (18, 18)
        assert timedelta() < ahead <= timedelta(days=1)
    finally:
        run(f"ALTER DATABASE {arena.name} RESET timezone")
        connection.close()
