"""Schedulers as processes: one fires, and killing them loses no tick and doubles none."""

import os
import signal
from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from apps.jobs.models import Job, Schedule, Tick
from apps.jobs.states import CatchUp, Overlap
from tests.jobs.looks import run
from tests.jobs.schedules import MINUTELY, again, come_due, jobs, make_schedule
from tests.processes import Process, until

SHORT = os.environ.get("SHORT") == "1"
MINUTES, SCHEDULES = (5, 50) if SHORT else (30, 200)


def test_runcron_fires_what_is_due_and_stops_when_told(own_database, tmp_path, queue):
    schedule = make_schedule(queue)
    come_due(schedule)
    scheduler = Process("runcron", database=own_database, log=tmp_path / "log", TZ="Asia/Tokyo")
    try:
        until(lambda: jobs(schedule))
        scheduler.send(signal.SIGTERM)
        assert scheduler.wait() == 0
    finally:
        scheduler.kill()
    assert again(schedule).trouble == ""
    assert len(jobs(schedule)) == 1


class Crew:
    """Two schedulers, the older of which can be killed: the next one stands ready by then."""

    def __init__(self, database: Any, folder: Path) -> None:
        self.database, self.folder = database, folder
        self.running: deque[Process] = deque()
        self.killed = 0
        for _ in range(3):
            self._start()

    def _start(self) -> None:
        log = self.folder / f"scheduler-{len(list(self.folder.iterdir()))}.log"
        self.running.append(Process("runscheduler", "--only", "cron", database=self.database, log=log))

    def kill_one(self) -> None:
        for process in list(self.running)[:2]:
            process.says("scheduler started")
        self.running.popleft().kill()
        self.killed += 1
        self._start()

    def end(self) -> None:
        for process in self.running:
            process.kill()


@pytest.fixture
def crew(own_database, tmp_path) -> Iterator[Crew]:
    made = Crew(own_database, tmp_path)
    yield made
    made.end()


def let_a_minute_pass() -> None:
    """Every time there is goes back by a minute; the jobs of before have ended."""
    with transaction.atomic():
        run("SELECT id FROM jobs_schedule ORDER BY id FOR UPDATE")
        run("UPDATE jobs_tick SET scheduled_for = scheduled_for - interval '1000 days'")  # out of each other's way
        run("UPDATE jobs_tick SET scheduled_for = scheduled_for + interval '1000 days' - interval '1 minute'")
        run("UPDATE jobs_schedule SET next_run_at = next_run_at - interval '1 minute', last_job_id = NULL")


def none_is_due() -> bool:
    return run("SELECT count(*) FROM jobs_schedule WHERE next_run_at <= clock_timestamp()") == [(0,)]


@pytest.mark.chaos
def test_schedulers_that_are_killed_every_second_make_one_job_of_each_tick(own_database, tmp_path, queue, crew):
    many = [
        make_schedule(
            queue,
            MINUTELY,
            name=f"n{n}",
            overlap_policy=Overlap.QUEUE,
            catchup_policy=CatchUp.FIRE_ALL,
            catchup_max=100,
        )
        for n in range(SCHEDULES)
    ]
    for minute in range(MINUTES):
        let_a_minute_pass()
        for _ in range(1 + minute % 2):
            crew.kill_one()
        until(none_is_due, within=60)
    crew.end()
    assert crew.killed >= MINUTES
    assert not Schedule.objects.exclude(trouble="").exists()
    for schedule in many:
        ticks = list(Tick.objects.filter(schedule=schedule).order_by("scheduled_for"))
        assert len(ticks) >= MINUTES
        assert {one.outcome for one in ticks} == {"fired"}
        assert all(later.scheduled_for - one.scheduled_for == timedelta(minutes=1) for one, later in pairwise(ticks))
        assert sorted(Job.objects.filter(schedule_id=schedule.pk).values_list("id", flat=True)) == sorted(
            one.job_id for one in ticks if one.job_id
        )
