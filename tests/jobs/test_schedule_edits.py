"""An edit fires nothing, and what it did not touch fires as it would have. Case H12."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.audit.models import Entry
from apps.errors import Conflict
from apps.jobs import services
from apps.jobs.models import Schedule
from tests.jobs.looks import ANN, told
from tests.jobs.schedules import MINUTELY, again, come_due, fire, jobs, ledger, make_schedule, now, outcomes, ticks

HOUR = timedelta(hours=1)


def edit(schedule, **fields):
    return services.update_schedule(schedule=schedule, actor=ANN, **fields)


def at_hour(moment: datetime) -> str:
    return f"{moment.minute} {moment.hour} * * *"


def test_another_time_counts_from_now_and_fires_nothing(queue):
    daily = make_schedule(queue, at_hour(now() - 14 * HOUR))
    for ahead in (-13 * HOUR, 7 * HOUR):  # one whose hour is past today, and one whose is not
        wanted = (now() + ahead).replace(second=0, microsecond=0)
        edit(daily, cron_expr=at_hour(wanted))
        assert fire() == 0
        assert again(daily).next_run_at == (wanted if ahead > timedelta() else wanted + 24 * HOUR)
    assert (jobs(daily), ledger(daily)) == ([], [])


@pytest.mark.parametrize("fields", [{"name": "other"}, {"payload": {"n": 2}}, {"priority": 3}, {}])
@pytest.mark.parametrize("due", [True, False])
def test_an_edit_of_anything_else_leaves_the_tick_alone(queue, fields, due):
    nightly = make_schedule(queue)
    same = {"cron_expr": nightly.cron_expr, "timezone": "UTC"}  # as a form or a full PUT repeats them
    if due:
        at = come_due(nightly)
    before = again(nightly).next_run_at
    edit(nightly, **fields, **same)
    assert again(nightly).next_run_at == before
    assert fire() == due
    assert ledger(nightly) == ([(at, "fired")] if due else [])
    assert fire() == 0


def test_blanks_are_no_change(queue):
    nightly = make_schedule(queue, " 5  *\t* * * ")
    assert nightly.cron_expr == "5 * * * *"
    come_due(nightly)
    edit(nightly, cron_expr="5 *  * * *")
    assert fire() == 1


def test_another_zone_counts_from_now(queue):
    daily = make_schedule(queue, "0 3 * * *", timezone="America/New_York")
    edit(daily, timezone="Asia/Tokyo")
    assert again(daily).next_run_at.astimezone(UTC).hour == 18
    assert now() < again(daily).next_run_at <= now() + 24 * HOUR
    assert (fire(), jobs(daily)) == (0, [])


def test_a_tick_that_had_come_when_its_time_was_changed_is_missed_and_listed(queue):
    nightly = make_schedule(queue)
    at = come_due(nightly)
    edit(nightly, cron_expr="5 * * * *")
    assert (fire(), ledger(nightly)) == (0, [(at, "missed")])
    assert "changed" in ticks(nightly)[0].why


def test_pausing_over_a_tick_leaves_it_out_and_says_so(queue):
    nightly = make_schedule(queue)
    services.pause_schedule(schedule=nightly, actor=ANN, reason="holidays")
    at = come_due(nightly)
    services.resume_schedule(schedule=nightly, actor=ANN)
    assert (fire(), ledger(nightly)) == (0, [(at, "skipped")])
    assert ticks(nightly)[0].why == "Paused by ann@example.com: holidays"
    assert again(nightly).next_run_at > now()
    assert [one.kind for one in [*told("schedule.paused"), *told("schedule.resumed")]] == [
        "schedule.paused",
        "schedule.resumed",
    ]


def test_a_year_of_pause_is_not_listed_minute_by_minute(queue):
    minutely = make_schedule(queue, MINUTELY)
    services.pause_schedule(schedule=minutely, actor=ANN)
    come_due(minutely, ago=timedelta(days=365))
    services.resume_schedule(schedule=minutely, actor=ANN)
    assert outcomes(minutely) == ["skipped"] * 101


def test_resuming_one_that_is_not_paused_does_nothing(queue):
    nightly = make_schedule(queue)
    at = come_due(nightly)
    services.resume_schedule(schedule=nightly, actor=ANN)
    assert again(nightly).next_run_at == at
    assert told("schedule.resumed") == []


def test_a_name_is_taken_once_in_its_queue(queue):
    make_schedule(queue)
    with pytest.raises(Conflict):
        make_schedule(queue)
    edit(make_schedule(queue, name="other"), payload={})
    with pytest.raises(Conflict):
        edit(Schedule.objects.get(name="other"), name="nightly")


def test_every_change_is_written_down_with_before_and_after(queue):
    nightly = make_schedule(queue)
    edit(nightly, cron_expr="5 * * * *")
    edit(nightly, cron_expr="5 * * * *")  # the same: no change
    services.pause_schedule(schedule=nightly, actor=ANN, reason="why")
    services.resume_schedule(schedule=nightly, actor=ANN)
    services.run_schedule(schedule=nightly, actor=ANN)
    services.delete_schedule(schedule=nightly, actor=ANN)
    entries: list[Any] = list(Entry.objects.filter(target_id=str(nightly.pk)).order_by("id"))
    verbs = ["create", "update", "pause", "resume", "run", "delete"]
    assert [one.action for one in entries] == [f"schedule.{verb}" for verb in verbs]
    assert {(one.actor, one.organization_id, one.request_id) for one in entries} == {
        (ANN.name, queue.project.organization_id, ANN.request_id)
    }
    created, updated, paused, resumed, _, deleted = entries
    assert (created.before, created.after["cron_expr"]) == (None, nightly.cron_expr)
    assert (updated.before["cron_expr"], updated.after["cron_expr"]) == (nightly.cron_expr, "5 * * * *")
    assert (paused.before["paused_at"], paused.after["pause_reason"]) == (None, "why")
    assert (resumed.before["pause_reason"], resumed.after["paused_at"]) == ("why", None)
    assert (deleted.before["name"], deleted.after) == ("nightly", None)


def test_an_edit_uses_the_clock_of_the_database(queue, monkeypatch):
    """A web process whose clock is ahead must not skip what is still to come."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: datetime(2099, 1, 1, tzinfo=UTC))
    nightly = make_schedule(queue, MINUTELY)
    assert again(nightly).next_run_at <= now() + timedelta(minutes=1)
