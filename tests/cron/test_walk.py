"""The answers of cron against a walk over real minutes, in zones whose clocks do odd things."""

import os
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from apps.errors import BadInput
from apps.jobs.cron import fires, latest, parse
from tests.cron.brute import ZONES, Expression, Field, expressions, turns, walk

SHORT = os.environ.get("SHORT") == "1"
FIRST, LAST = 2009, 2018  # ten years, with Samoa's missing day and Egypt's second thoughts
YEARS = (datetime(FIRST, 1, 3, tzinfo=UTC), datetime(LAST, 12, 25, tzinfo=UTC))

QUICK = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def answers(one: Expression, where: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    return list(takewhile(lambda at: at <= end, fires(parse(one.text), where, start)))


# Clocks are read between two minutes, and the last second before one is as good as any.
within_a_minute = st.sampled_from([0, 0, 1, 500_000, 30_000_000, 59_000_000, 59_000_001, 59_999_999]).map(
    lambda micros: timedelta(microseconds=micros)
)


@st.composite
def moments(draw: st.DrawFn) -> tuple[str, datetime]:
    """A zone and a moment, more often than not shortly before its clocks are put forward or back."""
    name = draw(st.sampled_from(ZONES))
    odd = turns(name, FIRST, LAST)
    ahead = timedelta(minutes=draw(st.integers(0, 2000))) - draw(within_a_minute)
    if draw(st.integers(0, 3)) and odd:
        return name, draw(st.sampled_from(odd)) - ahead
    spread = (YEARS[1] - YEARS[0]) // timedelta(minutes=1)
    return name, YEARS[0] + timedelta(minutes=draw(st.integers(0, spread))) + draw(within_a_minute)


@QUICK
@given(expressions(), moments())
def test_cron_fires_as_a_walk_over_every_real_minute_says(one, place):
    name, start = place
    end = start + timedelta(days=2)
    assume(one.ever())
    where = ZoneInfo(name)
    assert answers(one, where, start, end) == walk([one], where, start, end)[0]


@QUICK
@given(expressions(), moments(), st.integers(1, 20))
def test_the_latest_are_the_last_of_all(one, place, most):
    name, end = place
    assume(one.ever())
    where, start = ZoneInfo(name), end - timedelta(days=3)
    some = latest(parse(one.text), where, since=start, upto=end, most=most)
    assert some == answers(one, where, start, end)[-most:]


@QUICK
@given(expressions())
def test_what_never_comes_is_refused_and_nothing_else(one):
    if one.ever():
        assert parse(one.text).times
    else:
        with pytest.raises(BadInput, match="never comes"):
            parse(one.text)


def lists(*texts: str) -> list[Expression]:
    """Plain expressions: stars and numbers."""
    ranges = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
    made = []
    for text in texts:
        parts = [
            Field(word, frozenset(range(least, most + 1) if word == "*" else map(int, word.split(","))))
            for word, (least, most) in zip(text.split(), ranges, strict=True)
        ]
        made.append(Expression(*parts))
    return made


@pytest.mark.chaos
@pytest.mark.parametrize("name", ZONES[:2] if SHORT else ZONES)
def test_ten_years_of_every_minute(name):
    """Some plain schedules, over all of ten years in each zone."""
    every = lists(
        "30 2 * * *", "0 0 * * *", "15,45 1,23 * * *", "0 * * * *", "* 2 * * *", "30 0 1,15 * 0", "1 0 31 * *"
    )
    where = ZoneInfo(name)
    start, end = YEARS
    end = start + timedelta(days=366) if SHORT else end
    for one, found in zip(every, walk(every, where, start, end), strict=True):
        said = answers(one, where, start, end)
        assert sorted(set(said) ^ set(found))[:5] == []  # a diff of a million takes for ever
        assert said == sorted(said)


@pytest.mark.chaos
@settings(deadline=None, max_examples=50 if SHORT else 4000, suppress_health_check=[HealthCheck.too_slow])
@given(expressions(), moments())
def test_cron_fires_as_a_walk_says_four_thousand_times(one, place):
    name, start = place
    end = start + timedelta(days=3)
    assume(one.ever())
    where = ZoneInfo(name)
    assert answers(one, where, start, end) == walk([one], where, start, end)[0]
