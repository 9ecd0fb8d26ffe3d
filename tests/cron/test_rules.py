"""When a schedule fires: gaps, repeated hours, odd days. Cases H6 to H9, and the zones of H14."""

import os
import time
from datetime import datetime
from itertools import islice, takewhile

import pytest

from apps.errors import BadInput
from apps.jobs.cron import after, fires, parse, zone

NEW_YORK, LONDON = "America/New_York", "Europe/London"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def times(expression: str, where: str, since: str, count: int) -> list[str]:
    found = islice(fires(parse(expression), zone(where), at(since)), count)
    return [f"{one:%Y-%m-%dT%H:%MZ}" for one in found]


def until(expression: str, where: str, since: str, end: str) -> list[datetime]:
    return list(takewhile(lambda one: one <= at(end), fires(parse(expression), zone(where), at(since))))


@pytest.mark.parametrize(
    ("expression", "where", "since", "found"),
    [
        ("30 2 * * *", NEW_YORK, "2027-03-13T12:00:00Z", ["2027-03-14T07:00Z", "2027-03-15T06:30Z"]),
        (
            "30 2 * * *",
            NEW_YORK,
            "2027-03-13T00:00:00Z",
            ["2027-03-13T07:30Z", "2027-03-14T07:00Z", "2027-03-15T06:30Z"],
        ),
        ("30 1 * * *", LONDON, "2027-03-27T00:00:00Z", ["2027-03-27T01:30Z", "2027-03-28T01:00Z", "2027-03-29T00:30Z"]),
        # Two entries of one day meet at the end of the gap: once.
        (
            "0 2,3 * * *",
            NEW_YORK,
            "2027-03-13T12:00:00Z",
            ["2027-03-14T07:00Z", "2027-03-15T06:00Z", "2027-03-15T07:00Z"],
        ),
    ],
)
def test_a_fixed_time_that_does_not_exist_runs_once_when_the_gap_ends(expression, where, since, found):
    assert times(expression, where, since, len(found)) == found


def test_every_real_hour_of_a_day_of_23_hours():
    hours = until("0 * * * *", NEW_YORK, "2027-03-14T04:59:59Z", "2027-03-15T03:59:59Z")
    assert [(one.day, one.hour) for one in hours] == [*((14, n) for n in range(5, 24)), *((15, n) for n in range(4))]


@pytest.mark.parametrize(
    ("expression", "where", "since", "found"),
    [
        (
            "30 1 * * *",
            NEW_YORK,
            "2027-11-06T00:00:00Z",
            ["2027-11-06T05:30Z", "2027-11-07T05:30Z", "2027-11-08T06:30Z"],
        ),
        (
            "0 17 * * *",
            NEW_YORK,
            "2027-11-06T00:00:00Z",
            ["2027-11-06T21:00Z", "2027-11-07T22:00Z", "2027-11-08T22:00Z"],
        ),
        ("30 1 * * *", LONDON, "2027-10-30T00:00:00Z", ["2027-10-30T00:30Z", "2027-10-31T00:30Z", "2027-11-01T01:30Z"]),
    ],
)
def test_a_fixed_time_runs_in_the_first_pass_of_a_repeated_hour(expression, where, since, found):
    assert times(expression, where, since, len(found)) == found


def test_a_fixed_time_that_is_asked_for_in_the_second_pass_does_not_run_again():
    assert times("30 1 * * *", NEW_YORK, "2027-11-07T06:15:00Z", 1) == ["2027-11-08T06:30Z"]
    assert until("30 1 * * *", NEW_YORK, "2027-11-07T04:00:00Z", "2027-11-07T08:00:00Z") == [at("2027-11-07T05:30:00Z")]


def test_a_schedule_of_the_wall_clock_runs_in_both_passes():
    quarters = until("*/15 * * * *", NEW_YORK, "2027-11-07T04:59:00Z", "2027-11-07T07:30:00Z")
    assert [f"{one:%H:%M}" for one in quarters] == [
        "05:00", "05:15", "05:30", "05:45", "06:00", "06:15", "06:30", "06:45", "07:00", "07:15", "07:30",
    ]  # fmt: skip


@pytest.mark.parametrize(("expression", "count"), [("0 * * * *", 25), ("* * * * *", 1500)])
def test_a_day_of_25_hours_has_them_all(expression, count):
    found = until(expression, NEW_YORK, "2027-11-07T03:59:59Z", "2027-11-08T04:59:59Z")
    assert len(set(found)) == len(found) == count


@pytest.mark.parametrize(
    ("expression", "where", "since", "found"),
    [
        ("0 12 * * 0", "Europe/Berlin", "2022-03-24T11:00:00Z", "2022-03-27T10:00Z"),
        ("0 0 * * *", "Europe/Prague", "2026-03-28T23:30:00Z", "2026-03-29T22:00Z"),
        ("0 8 * * 0", "America/Chicago", "2026-03-08T05:45:00Z", "2026-03-08T13:00Z"),
        ("* * * */3 *", NEW_YORK, "2015-02-15T05:00:00Z", "2015-04-01T04:00Z"),
    ],
)
def test_a_short_day_loses_neither_its_day_nor_its_hour(expression, where, since, found):
    assert times(expression, where, since, 1) == [found]


@pytest.mark.parametrize(
    ("expression", "since", "found"),
    [
        ("0 0 1,15 * 1", "2027-01-01", "01-04 01-11 01-15 01-18 01-25 02-01 02-08 02-15"),
        ("0 0 30 2 1", "2027-01-01", "02-01 02-08 02-15 02-22 02-07"),
        ("0 0 31 6 0", "2027-05-20", "06-06 06-13 06-20 06-27"),
        ("0 0 1 JAN-MAR MON", "2027-01-01", "01-04 01-11 01-18 01-25 02-01"),
        # A field that starts with a star restricts nothing, so both must hold.
        ("0 16 */2 * SAT", "2023-05-01", "05-13 05-27 06-03 06-17 07-01"),
    ],
)
def test_day_of_month_with_day_of_week(expression, since, found):
    days = found.split()
    assert [one[5:10] for one in times(expression, "UTC", f"{since}T00:00:00Z", len(days))] == days


@pytest.mark.parametrize(("since", "found"), [("2027-01-01", "2028-02-29T09:00Z"), ("2096-03-01", "2104-02-29T09:00Z")])
def test_the_29th_of_february_comes_in_leap_years(since, found):
    assert times("0 9 29 2 *", "UTC", f"{since}T00:00:00Z", 1) == [found]


def test_the_end_of_the_calendar_ends_a_schedule():
    assert after(parse("* * * * *"), zone("UTC"), at("9999-12-31T23:59:59+00:00")) is None
    assert after(parse("0 0 29 2 *"), zone(NEW_YORK), at("9997-01-01T00:00:00+00:00")) is None


def test_the_zone_of_the_machine_does_not_matter(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        days = times("0 8 * * *", "Pacific/Honolulu", "2027-06-01T00:00:00Z", 3)
    finally:
        monkeypatch.undo()
        os.environ.setdefault("TZ", "UTC")
        time.tzset()
    assert days == ["2027-06-01T18:00Z", "2027-06-02T18:00Z", "2027-06-03T18:00Z"]


@pytest.mark.parametrize(
    "name", ["Mars/Phobos", "", "Europe", "../../etc/passwd", "/etc/localtime", "europe\x00", "x" * 300]
)
def test_a_zone_that_does_not_exist_is_named(name):
    with pytest.raises(BadInput) as refused:
        zone(name)
    assert refused.value.errors[0].pointer == "#/timezone"


@pytest.mark.parametrize("expression", ["* * * * *", "0-59 0-23 * * *"])
@pytest.mark.parametrize("second", ["59", "59.000001", "59.86", "59.999999"])
def test_the_last_second_before_a_tick_does_not_pass_it_by(expression, second):
    assert times(expression, NEW_YORK, f"2027-06-01T12:47:{second}Z", 2) == ["2027-06-01T12:48Z", "2027-06-01T12:49Z"]
    assert times(expression, NEW_YORK, "2027-06-01T12:48:00Z", 1) == ["2027-06-01T12:49Z"]
