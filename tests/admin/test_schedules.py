"""Schedules in the admin: through the same services, with the same refusals."""

import pytest
from django.urls import reverse

from apps.jobs.models import Schedule
from tests.admin.test_changes import entries, form_of, run
from tests.admin.test_lists import page_of
from tests.jobs.schedules import again, come_due, fire, jobs, make_schedule


def test_one_is_made_and_what_never_comes_is_refused(console, queue):
    address = reverse("admin:jobs_schedule_add")
    form = form_of(console, address) | {
        "queue": str(queue.pk),
        "name": "nightly",
        "cron_expr": "0 0 30 2 *",
        "timezone": "Europe/Berlin",
        "job_type": "ping",
        "payload": '{"n": 1}',
    }
    assert "never comes" in console.post(address, form, follow=True).content.decode()
    assert not Schedule.objects.exists()
    console.post(address, form | {"cron_expr": "0 3 * * *"})
    made = Schedule.objects.get()
    assert (made.payload, made.next_run_at is not None) == ({"n": 1}, True)
    assert entries(made.pk) == ["schedule.create"]


def test_a_form_sent_back_unchanged_leaves_its_tick_alone(console, queue):
    schedule = make_schedule(queue)
    at = come_due(schedule)
    console.post(page_of(schedule), form_of(console, page_of(schedule)) | {"priority": "3"})
    assert (again(schedule).priority, again(schedule).next_run_at) == (3, at)
    console.post(page_of(schedule), form_of(console, page_of(schedule)) | {"cron_expr": "5 * * * *"})
    assert again(schedule).next_run_at.minute == 5
    assert entries(schedule.pk) == ["schedule.create", "schedule.update", "schedule.update"]


def test_it_is_paused_resumed_and_run_on_its_row(console, queue):
    schedule = make_schedule(queue)
    for verb in ("pause", "run", "resume", "run"):  # the last is refused: the job before has not ended
        assert console.get(reverse(f"admin:jobs_schedule_{verb}", args=[schedule.pk])).status_code == 405
        console.post(reverse(f"admin:jobs_schedule_{verb}", args=[schedule.pk]))
    assert len(jobs(schedule)) == 1
    assert entries(schedule.pk) == [f"schedule.{verb}" for verb in ("create", "pause", "run", "resume")]


@pytest.mark.parametrize(("action", "verb"), [("pause_all", "pause"), ("run_all", "run")])
def test_some_are_seen_to_together(console, queue, action, verb):
    some = [make_schedule(queue, name=f"n{n}") for n in range(2)]
    run(console, Schedule, action, *some)
    assert all(entries(one.pk) == ["schedule.create", f"schedule.{verb}"] for one in some)


def test_its_last_ticks_stand_below_the_form(console, queue):
    schedule, other = make_schedule(queue, deadline_seconds=60), make_schedule(queue, name="other")
    come_due(schedule, other)
    fire()
    page = console.get(page_of(schedule)).content.decode()
    assert str(jobs(schedule)[0].pk) in page
    assert page.count("Fired") == 1


def test_a_deleted_one_is_written_down(console, queue):
    schedule = make_schedule(queue)
    console.post(reverse("admin:jobs_schedule_delete", args=[schedule.pk]), {"post": "yes"})
    assert not Schedule.objects.exists()
    assert entries(schedule.pk) == ["schedule.create", "schedule.delete"]
