"""Read a cron expression of five fields. croniter takes much that nobody meant; what it gets to see is checked here."""

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from croniter import CroniterError, croniter

from apps.errors import BadInput

POINTER = "#/cron_expr"
EXPRESSION_MAX = 255
HORIZON = 41  # years: a 29th of February on a given weekday may be 40 away
LAST_YEAR = 9998
LAST = 0  # among the n-th weekdays of a month: the last one
DAY = timedelta(days=1)

FORMS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    least: int
    most: int
    count: int  # of values: the longest step
    names: dict[str, int]


FIELDS = (
    _Field("minute", 0, 59, 60, {}),
    _Field("hour", 0, 23, 24, {}),
    _Field("day-of-month", 1, 31, 31, {}),
    _Field("month", 1, 12, 12, MONTHS),
    _Field("day-of-week", 0, 7, 7, WEEKDAYS),
)
_ITEM = re.compile(r"(?:\*|(\d{1,2}|[a-z]{3})(?:-(\d{1,2}|[a-z]{3}))?)(?:/(\d{1,4}))?", re.ASCII)
_NTH = re.compile(r"([0-7]|[a-z]{3})(?:#([1-5])|(l))", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cron:
    """An expression that was read: at which minutes of which days it fires."""

    times: tuple[int, ...]  # minutes of the day, in order
    days: frozenset[int]
    last_day: bool  # of the month, besides `days`
    months: frozenset[int]
    weekdays: frozenset[int]  # Sunday is 0
    nths: frozenset[tuple[int, int]]  # the n-th such weekday of the month, besides `weekdays`
    both: bool  # day-of-month and day-of-week must both match; else either does
    wall: bool  # follows the wall clock minute by minute; else a fixed time, once a day

    def day_from(self, day: date) -> date | None:
        """The first day from this one on that matches; None where there is none."""
        end = min(day.year + HORIZON, LAST_YEAR)
        while day.year <= end:
            if day.month not in self.months:
                day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
            elif self._matches(day):
                return day
            else:
                day += DAY
        return None

    def _matches(self, day: date) -> bool:
        days = day.day in self.days or (self.last_day and (day + DAY).day == 1)
        if days != self.both:
            return days
        weekday = day.isoweekday() % 7
        return weekday in self.weekdays or bool(self.nths) and self._is_nth(day, weekday)

    def _is_nth(self, day: date, weekday: int) -> bool:
        is_last = (day + 7 * DAY).month != day.month
        return (weekday, (day.day + 6) // 7) in self.nths or is_last and (weekday, LAST) in self.nths


def tidy(text: str) -> str:
    """An expression as it is kept: one space between fields."""
    return " ".join(re.split(r"[ \t]+", text.strip(" \t")))


@lru_cache(maxsize=4096)
def parse(text: str) -> Cron:
    """Read an expression; raises BadInput at cron_expr naming the field that is wrong."""
    if len(text) > EXPRESSION_MAX:
        raise _wrong(f"At most {EXPRESSION_MAX} characters; this has {len(text)}.")
    parts = _parts(tidy(text).lower())
    settled = [
        ",".join(_settled(field, item) for item in part.split(",")) for field, part in zip(FIELDS, parts, strict=True)
    ]
    try:
        expanded, nths = croniter.expand(" ".join(settled))
    except (CroniterError, ValueError, KeyError) as error:
        raise _wrong(f"This is no cron expression: {error}") from error
    cron = _read(parts, expanded, nths)
    if cron.day_from(date(2000, 1, 1)) is None:
        raise _wrong(f"The day-of-month {parts[2]} never comes in month {parts[3]} with day-of-week {parts[4]}.")
    return cron


def _parts(text: str) -> list[str]:
    if text.startswith("@"):
        if text not in FORMS:
            raise _wrong(f"{text[:32]!r} is none of {', '.join(FORMS)}.")
        text = FORMS[text]
    parts = text.split(" ")
    if len(parts) != len(FIELDS):
        raise _wrong(f"Five fields: minute, hour, day-of-month, month, day-of-week; this has {len(text and parts)}.")
    return parts


def _settled(field: _Field, item: str) -> str:
    """One item of a field, checked, in croniter's words; raises BadInput."""
    if field.name == "day-of-month" and item == "l":
        return item
    if field.name == "day-of-week" and (nth := _NTH.fullmatch(item)):
        day = _number(field, item, nth[1]) % 7
        return f"L{day}" if nth[3] else f"{day}#{nth[2]}"
    found = _ITEM.fullmatch(item)
    if found is None:
        raise _bad(field, item, "that is nothing it takes")
    first, last, step = found.groups()
    if step is not None and not 1 <= int(step) <= field.count:
        raise _bad(field, item, f"a step is between 1 and {field.count}")
    if first is None:
        return item
    start = _number(field, item, first)
    return item if last is None else _range(field, item, start, last, step or "1")


def _range(field: _Field, item: str, start: int, last: str, step: str) -> str:
    end = _number(field, item, last)
    if last == "sun" and start:
        end = 7  # a week may end with it
    if end < start:
        raise _bad(field, item, "that range runs backwards")
    return str(start) if end == start else f"{start}-{end}/{step}"  # 5-5 it would read as all of them


def _number(field: _Field, item: str, word: str) -> int:
    number = int(word) if word.isdigit() else field.names.get(word)
    if number is None or not field.least <= number <= field.most:
        raise _bad(field, item, f"it takes {field.least} to {field.most}")
    return number


def _read(parts: list[str], expanded: Any, nths: Mapping[int, Any]) -> Cron:
    minutes, hours, days, months, weekdays = (
        range(field.least, field.least + field.count) if "*" in values else values
        for field, values in zip(FIELDS, expanded, strict=True)
    )
    named = frozenset((day, LAST if n == "l" else int(n)) for day, each in nths.items() for n in each)
    return Cron(
        times=tuple(hour * 60 + minute for hour in sorted(hours) for minute in sorted(minutes)),
        days=frozenset(day for day in days if day != "l"),
        last_day="l" in days,
        months=frozenset(months),
        weekdays=frozenset(weekdays) - {day for day, _ in named},  # croniter lists those too
        nths=named,
        both=parts[2].startswith("*") or parts[4].startswith("*"),
        wall=parts[0].startswith("*") or parts[1].startswith("*"),
    )


def _bad(field: _Field, item: str, why: str) -> BadInput:
    return _wrong(f"The {field.name} field has {item[:32]!r}: {why}.")


def _wrong(detail: str) -> BadInput:
    return BadInput.at(POINTER, detail)
