"""Find the moments at which a schedule fires, in a zone whose clocks are put forward and back.

A zone is a row of stretches of real time with one offset each. A schedule that follows the wall clock fires whenever
the clock on the wall shows one of its minutes, so twice in a repeated hour and never in a skipped one. A fixed time
fires the first time the clock on the wall shows it or a later one: once in a repeated hour, and at the end of a gap.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo

from apps.errors import BadInput
from apps.jobs.cron.fields import LAST_YEAR, Cron

MINUTE, SECOND, HOUR = timedelta(minutes=1), timedelta(seconds=1), timedelta(hours=1)
INSTANT = timedelta(microseconds=1)  # the least that is later: clocks are read at any fraction of a second
FIRST, END = datetime(1900, 1, 2, tzinfo=UTC), datetime(LAST_YEAR, 12, 30, tzinfo=UTC)


def zone(name: str) -> ZoneInfo:
    """A zone by its IANA name; raises BadInput at timezone."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadInput.at("#/timezone", "This must be an IANA name such as Europe/Berlin.") from None


def after(cron: Cron, where: ZoneInfo, moment: datetime) -> datetime | None:
    """The first moment, in UTC, strictly later than this one at which the schedule fires; None: not any more."""
    moment = max(moment.astimezone(UTC), FIRST)
    if moment >= END:
        return None
    found = _by_the_wall(cron, where, moment) if cron.wall else _once_a_day(cron, where, moment)
    return found if found is not None and found < END else None


def fires(cron: Cron, where: ZoneInfo, moment: datetime) -> Iterator[datetime]:
    """All moments later than this one, in order."""
    found = after(cron, where, moment)
    while found is not None:
        yield found
        found = after(cron, where, found)


def latest(cron: Cron, where: ZoneInfo, *, since: datetime, upto: datetime, most: int) -> list[datetime]:
    """The last so many moments later than `since`, up to `upto`, in order, without walking all that may lie between."""
    width = HOUR
    while True:
        start = max(since, upto - width)
        found = list(takewhile(lambda at: at <= upto, fires(cron, where, start)))
        if len(found) >= most or start == since:
            return found[-most:]
        width *= 4


def _by_the_wall(cron: Cron, where: ZoneInfo, moment: datetime) -> datetime | None:
    since, wall = moment, _wall(where, moment) + INSTANT
    while since < END:
        shown = _shown(cron, wall)
        if shown is None:
            return None
        found = since.astimezone(UTC) + (shown - _wall(where, since))
        turn = _turn(where, since, found)
        if turn is None:
            return found
        since, wall = turn, _wall(where, turn)
    return None


def _once_a_day(cron: Cron, where: ZoneInfo, moment: datetime) -> datetime | None:
    wall = _wall(where, moment)
    while (shown := _shown(cron, wall + INSTANT)) is not None:
        found = _reached(where, shown)
        if found > moment:
            return found
        wall = shown  # the second time round, its first time has passed
    return None


def _shown(cron: Cron, wall: datetime) -> datetime | None:
    """The first time on the wall, this one or later, that the expression names."""
    minutes = -(-(wall - datetime(wall.year, wall.month, wall.day)) // MINUTE)  # noqa: DTZ001 — no zone on the wall
    day = cron.day_from(wall.date())
    if day is None:
        return None
    place = bisect_left(cron.times, minutes) if day == wall.date() else 0
    if place == len(cron.times):
        place, day = 0, cron.day_from(day + timedelta(days=1))
    if day is None:
        return None
    return datetime(day.year, day.month, day.day) + cron.times[place] * MINUTE  # noqa: DTZ001


def _reached(where: ZoneInfo, wall: datetime) -> datetime:
    """The first moment at which the clock on the wall shows this time or a later one."""
    found = wall.replace(tzinfo=where, fold=0).astimezone(UTC)
    if _wall(where, found) == wall:
        return found
    turn = _turn(where, found - timedelta(days=2), found)  # a gap: it ends where the clock is put forward
    while turn is not None and _wall(where, turn) < wall:
        turn = _turn(where, turn, found)
    return found if turn is None else turn


def _turn(where: ZoneInfo, since: datetime, upto: datetime) -> datetime | None:
    """The first moment after `since`, up to `upto`, at which the clock is put forward or back."""
    for year in range(since.year, upto.year + 1):
        turns = _turns(where, year)
        place = bisect_right(turns, since)
        if place < len(turns):
            return turns[place] if turns[place] <= upto else None
    return None


@lru_cache(maxsize=8192)
def _turns(where: ZoneInfo, year: int) -> tuple[datetime, ...]:
    """When clocks are put forward or back in a year of UTC; to the second, as old zones had it."""
    start = datetime(year, 1, 1, tzinfo=UTC)
    hours = [start + n * HOUR for n in range(0, (datetime(year + 1, 1, 1, tzinfo=UTC) - start) // HOUR + 1, 6)]
    return tuple(
        _between(where, before, later)
        for before, later in pairwise(hours)
        if _offset(where, before) != _offset(where, later)
    )


def _between(where: ZoneInfo, before: datetime, later: datetime) -> datetime:
    old = _offset(where, before)
    while later - before > SECOND:
        middle = before + (later - before) // 2
        middle = middle.replace(microsecond=0)
        before, later = (middle, later) if _offset(where, middle) == old else (before, middle)
    return later


def _offset(where: ZoneInfo, moment: datetime) -> timedelta:
    return moment.astimezone(where).utcoffset() or timedelta()


def _wall(where: ZoneInfo, moment: datetime) -> datetime:
    """What the clock on the wall shows, without a zone."""
    return moment.astimezone(where).replace(tzinfo=None, fold=0)
