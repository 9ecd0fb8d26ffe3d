"""What an expression may say, and what is refused before it can do harm. Cases H10 and H11."""

import time
from datetime import UTC, datetime
from itertools import islice

import pytest

from apps.errors import BadInput
from apps.jobs.cron import fires, parse, tidy, zone

MINUTES = [
    "*/0", "5-5/0", "59-0/0", "60", "-5", "+5", "1_0", "٣", "5,,6", ",5", "5-", "/5", "0x5", "5.0",
    "*/90", "50-10", "*/61", "H", "?", "R", "L", "1#1", "*-5", "5/", "5/-1", "jan", "1-2-3", "5//2", "** ", "1\n",
]  # fmt: skip


def refused(text: str) -> str:
    with pytest.raises(BadInput) as error:
        parse(text)
    [fault] = error.value.errors
    assert fault.pointer == "#/cron_expr"
    return fault.detail


def days(text: str, since: str, count: int) -> list[str]:
    start = datetime.fromisoformat(f"{since}T00:00:00Z")
    return [f"{one:%Y-%m-%d}" for one in islice(fires(parse(text), zone("UTC"), start), count)]


@pytest.mark.parametrize("minute", MINUTES)
def test_a_malformed_minute_is_refused(minute):
    assert refused(f"{minute} * * * *")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("60 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("0 0 0 * *", "day-of-month"),
        ("0 0 32 * *", "day-of-month"),
        ("0 0 W * *", "day-of-month"),
        ("0 0 * 13 *", "month"),
        ("0 0 * mai *", "month"),
        ("0 0 * L *", "month"),
        ("* * * * 8", "day-of-week"),
        ("0 0 * * 6-1", "day-of-week"),
        ("0 0 * * 1#6", "day-of-week"),
        ("0 0 * * xyz", "day-of-week"),
    ],
)
def test_the_field_that_is_wrong_is_named(text, field):
    assert f"The {field} field" in refused(text)


@pytest.mark.parametrize("text", ["* * * *", "* * * * * *", "0 0 0 * * * *", "", " ", "*", "\x00", "\ud800"])
def test_there_are_five_fields_and_no_sixth_for_seconds(text):
    assert "Five fields" in refused(text)


def test_ten_thousand_characters_are_refused_at_once():
    assert "255 characters" in refused("*," * 5000)


@pytest.mark.parametrize("text", ["29 2 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 2 *", "0 0 30 2 */2"])
def test_a_date_that_never_comes_is_refused_at_once(text):
    began = time.thread_time()
    assert "never comes" in refused(text)
    assert time.thread_time() - began < 0.1  # of the processor


@pytest.mark.parametrize(
    ("form", "meant"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_short_forms_mean_five_fields(form, meant):
    assert parse(form) == parse(meant)


@pytest.mark.parametrize("form", ["@reboot", "@every 0s", "@every_minute", "@", "@daily 5"])
def test_other_forms_are_refused(form):
    assert "none of @hourly" in refused(form)


def test_blanks_between_fields_do_not_matter():
    assert tidy(" 5  *\t* * * ") == "5 * * * *"
    assert parse(" 5  *\t* * * ") == parse("5 * * * *")


@pytest.mark.parametrize(
    ("text", "count", "found"),
    [
        ("0 0 * * 7", 1, "2027-01-03"),
        ("0 0 * * 5-7", 4, "2027-01-02 2027-01-03 2027-01-08 2027-01-09"),
        ("0 0 * * fri-SUN", 4, "2027-01-02 2027-01-03 2027-01-08 2027-01-09"),
        ("0 0 * * 0-7", 3, "2027-01-02 2027-01-03 2027-01-04"),
        ("0 0 * * 5#5", 5, "2027-01-29 2027-04-30 2027-07-30 2027-10-29 2027-12-31"),
        ("0 0 * * 5L", 6, "2027-01-29 2027-02-26 2027-03-26 2027-04-30 2027-05-28 2027-06-25"),
        ("0 0 * * SunL", 2, "2027-01-31 2027-02-28"),
        ("0 0 * * 1#1,3#2", 3, "2027-01-04 2027-01-13 2027-02-01"),
    ],
)
def test_days_of_the_week(text, count, found):
    assert days(text, "2027-01-01", count) == found.split()


def test_the_last_day_of_the_month():
    ends = days("0 0 L * *", "2027-01-30", 14)
    assert [ends[0], ends[1], ends[2], ends[-1]] == ["2027-01-31", "2027-02-28", "2027-03-31", "2028-02-29"]
    assert days("0 0 15,L * *", "2027-01-31", 2) == ["2027-02-15", "2027-02-28"]


def test_a_start_with_a_step_goes_on_to_the_end():
    start = datetime(2027, 1, 1, tzinfo=UTC)
    found = islice(fires(parse("5/15 * * * *"), zone("UTC"), start), 4)
    assert [one.minute for one in found] == [5, 20, 35, 50]


@pytest.mark.parametrize("text", ["5-5 0-0 1 1 *", "5-5/3 0-0/2 1-1 jan-1 *", "5 0 1-1/9 1-jan/12 *"])
def test_a_range_of_one_is_one(text):
    assert parse(text).times == (5,)
    assert days(text, "2027-02-01", 2) == ["2028-01-01", "2029-01-01"]
    assert days("0 0 * * sun-sun", "2027-01-01", 2) == ["2027-01-03", "2027-01-10"]


def test_a_step_as_long_as_the_field_is_its_first_value():
    assert parse("0 */24 * * *").times == (0,)
