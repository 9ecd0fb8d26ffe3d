"""Cron read and walked the dumb way: every real minute is looked at on the wall. Knows nothing of apps/jobs/cron."""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

MINUTE = timedelta(minutes=1)
ZONES = (
    "Africa/Cairo",
    "Africa/Casablanca",  # stops summer time for Ramadan
    "America/Caracas",  # half an hour, in 2007 and 2016
    "America/Havana",  # at midnight
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "America/Sao_Paulo",  # at midnight
    "America/St_Johns",  # at one minute past midnight, until 2011
    "Antarctica/Troll",  # two hours
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Australia/Lord_Howe",  # half an hour
    "Europe/Dublin",  # winter time is the exception
    "Europe/London",
    "Pacific/Apia",  # had no 30th of December 2011
    "Pacific/Chatham",
    "UTC",
)


@dataclass(frozen=True)
class Field:
    text: str
    values: frozenset[int]

    @property
    def starred(self) -> bool:
        return self.text.startswith("*")


@dataclass(frozen=True)
class Expression:
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @property
    def text(self) -> str:
        return " ".join(field.text for field in (self.minute, self.hour, self.day, self.month, self.weekday))

    @property
    def by_the_wall(self) -> bool:
        return self.minute.starred or self.hour.starred

    def on(self, day: date) -> bool:
        if day.month not in self.month.values:
            return False
        matches = (day.day in self.day.values, (day.weekday() + 1) % 7 in self.weekday.values)
        return all(matches) if self.day.starred or self.weekday.starred else any(matches)

    def ever(self) -> bool:
        """Whether some day of the calendar matches, over all the ways a year can be."""
        return any(
            self.on(date(year, month, day))
            for year in range(2000, 2028)
            for month in range(1, 13)
            for day in range(1, calendar.monthrange(year, month)[1] + 1)
        )


def minutes(where: ZoneInfo, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Each real minute and what the clock on the wall shows."""
    at = start.replace(second=0, microsecond=0)
    while at <= end:
        yield at, at.astimezone(where).replace(tzinfo=None)
        at += MINUTE


def walk(expressions: list[Expression], where: ZoneInfo, start: datetime, end: datetime) -> list[list[datetime]]:
    """When each fires, later than `start` and up to `end`. The wall is watched from two days before."""
    fires: list[list[datetime]] = [[] for _ in expressions]
    matching = [cache(one.on) for one in expressions]

    def shows(place: int, wall: datetime) -> bool:
        one = expressions[place]
        return wall.minute in one.minute.values and wall.hour in one.hour.values and matching[place](wall.date())

    reached = datetime.min  # the furthest that the wall has shown  # noqa: DTZ901
    for at, wall in minutes(where, start - timedelta(days=2), end):
        new = [wall] if wall - reached == MINUTE else _skipped(reached, wall)
        for place, one in enumerate(expressions):
            shown = [wall] if one.by_the_wall else new
            if at > start and any(shows(place, each) for each in shown):
                fires[place].append(at)
        reached = max(reached, wall)
    return fires


def _skipped(reached: datetime, wall: datetime) -> list[datetime]:
    """What the wall shows for the first time: nothing in a repeated hour, and all that a gap left out at its end."""
    if wall <= reached or reached.year == 1:
        return []
    return [wall - n * MINUTE for n in range((wall - reached) // MINUTE)]


@st.composite
def fields(draw: st.DrawFn, least: int, most: int, *, names: tuple[str, ...] = ()) -> Field:
    """A field as people write them, and what it means."""
    if draw(st.booleans()):
        step = draw(st.sampled_from([None, None, 2, 3, 5, 15]).filter(lambda n: n is None or n <= most - least + 1))
        return Field("*" if step is None else f"*/{step}", frozenset(range(least, most + 1, step or 1)))
    texts, values = [], set[int]()
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(least, most))
        kind = draw(st.sampled_from(["one", "one", "range", "stepped"]))
        end = start if kind == "one" else draw(st.integers(start, most))
        step = draw(st.integers(1, 7)) if kind == "stepped" else 1
        word = names[start - least] if draw(st.booleans()) and names else str(start)
        texts.append({"one": word, "range": f"{word}-{end}", "stepped": f"{word}-{end}/{step}"}[kind])
        values |= set(range(start, end + 1, step))
    return Field(",".join(texts), frozenset(values))


MONTHS = tuple(calendar.month_abbr)[1:]
WEEKDAYS = ("sun", "mon", "TUE", "wed", "thu", "fri", "SAT")


def expressions() -> st.SearchStrategy[Expression]:
    return st.builds(
        Expression,
        minute=fields(0, 59),
        hour=fields(0, 23),
        day=fields(1, 31),
        month=fields(1, 12, names=MONTHS),
        weekday=fields(0, 6, names=WEEKDAYS),
    )


@cache
def turns(name: str, first: int, last: int) -> list[datetime]:
    """The hours of these years in which a zone's clocks are put forward or back."""
    where = ZoneInfo(name)
    hour = timedelta(hours=1)
    at, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last, 12, 28, tzinfo=UTC)
    found, offset = [], at.astimezone(where).utcoffset()
    while (at := at + hour) < end:
        if (now := at.astimezone(where).utcoffset()) != offset:
            found.append(at)
        offset = now
    return found
