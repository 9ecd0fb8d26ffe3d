"""Tables sliced by UTC day: cut ahead of time, dropped whole. Every app cuts and drops its own.

No day may queue a report behind a slow reader. So a partition is made as a table of its own and
attached (which lets writers of the parent go on), and leaves by DETACH CONCURRENTLY; whoever waits
for a lock gives up after 300 ms and tries again later.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial

from django.db import transaction
from django.db.utils import Error

from apps.sql import Statement, Steps, Trouble, Verb, run, run_alone, trouble

AHEAD = 30  # days
BACK = 1  # days: a report that began before midnight may end after it
TRIES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Daily:
    """A table with one partition a day. Indexes: the end of the name, and what follows ON <partition>."""

    name: str
    column: str
    unique: dict[str, str] = field(default_factory=dict)
    indexes: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)  # what every row of a day has in common
    is_list: bool = False  # of dates; else a range of times

    def partition(self, day: date) -> str:
        return f"{self.name}_d{day:%Y%m%d}"

    def bound(self, day: date) -> str:
        """The rows of one day, in the words of FOR VALUES."""
        if self.is_list:
            return f"IN ('{day}')"
        return f"FROM ('{day} 00:00Z') TO ('{day + timedelta(days=1)} 00:00Z')"

    def check(self, day: date) -> str:
        """The same as a condition, by which ATTACH knows that it need not scan."""
        if self.is_list:
            return f"{self.column} IS NOT NULL AND {self.column} = '{day}'"
        return (
            f"{self.column} IS NOT NULL AND {self.column} >= '{day} 00:00Z'"
            f" AND {self.column} < '{day + timedelta(days=1)} 00:00Z'"
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """One partition that exists. `attached` is False for one that a crash left half dropped."""

    name: str
    day: date
    age: int  # days; today's is 0
    attached: bool
    leaving: bool  # a DETACH CONCURRENTLY was begun and never finished


def _same[T](value: T, *_: object) -> T:
    return value


_missing: Statement[date] = Statement.beside(__file__, _same, "days_missing")
_left: Statement[int] = Statement.beside(__file__, _same, "days_left")
_existing = Statement.beside(__file__, Cut, "days_existing")
_alone: Statement[str] = Statement.beside(__file__, _same, "days_lock")


def missing(table: Daily, *, ahead: int = AHEAD, back: int = BACK) -> list[date]:
    """The days, from `back` days ago to `ahead` days on, that a table has no partition for."""
    return _missing(table=table.name, ahead=ahead, back=back)


def cut(table: Daily, *, ahead: int = AHEAD, back: int = BACK) -> list[str]:
    """Make the missing partitions, each in its own short transaction. Safe anywhere, at once, again."""
    lacking = missing(table, ahead=ahead, back=back)
    return [table.partition(day) for day in lacking if patiently(partial(cut_day, table, day))]


def cut_day(table: Daily, day: date) -> bool:
    """Make one partition; False if it is there."""
    name = table.partition(day)
    with transaction.atomic():
        _alone()
        if any(part.day == day for part in existing(table)):
            return False  # another process was quicker
        checks = "".join(f", CONSTRAINT {rule} CHECK ({condition})" for rule, condition in table.checks.items())
        run(
            f"CREATE TABLE {name} (LIKE {table.name} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE,"
            f" CONSTRAINT {name}_bound CHECK ({table.check(day)}){checks})"
        )
        for end, index in table.unique.items():
            run(f"CREATE UNIQUE INDEX {name}_{end} ON {name} {index}")
        for end, index in table.indexes.items():
            run(f"CREATE INDEX {name}_{end} ON {name} {index}")
        run(f"ALTER TABLE {table.name} ATTACH PARTITION {name} FOR VALUES {table.bound(day)}")
        run(f"ALTER TABLE {name} DROP CONSTRAINT {name}_bound")  # the partition's own bound says the same
    return True


@Verb
def days_left(*tables: Daily) -> Steps[int]:
    """How many days after today have a partition in each of these, without a gap; /readyz complains below 3."""
    left = []
    for table in tables:
        left += yield from _left.ask(table=table.name)
    return min(left)


def existing(table: Daily) -> list[Cut]:
    """Every partition of a table that is still there, oldest first, half-dropped ones too."""
    return _existing(table=table.name)


def older(table: Daily, *, days: int) -> list[Cut]:
    """The partitions of days that ended more than so many days ago."""
    return [part for part in existing(table) if part.age > days]


def drop(table: Daily, part: Cut) -> None:
    """Take one day out, also when an earlier try got stuck half way. Not inside a transaction."""
    if part.leaving:
        patiently(lambda: run_alone(f"ALTER TABLE {table.name} DETACH PARTITION {part.name} FINALIZE"))
    elif part.attached:
        patiently(lambda: run_alone(f"ALTER TABLE {table.name} DETACH PARTITION {part.name} CONCURRENTLY"))
    patiently(lambda: _drop(part))


def patiently[T](call: Callable[[], T]) -> T:
    """Try again while locks are taken or the other side was quicker."""
    for attempt in range(TRIES):
        try:
            return call()
        except Error as error:
            if trouble(error) is not Trouble.RETRY or attempt == TRIES - 1:
                raise
            time.sleep(random.uniform(0.5, 1) * 0.05 * 2**attempt)  # noqa: S311
    raise AssertionError("unreachable")


def _drop(part: Cut) -> None:
    with transaction.atomic():
        _alone()
        run(f"DROP TABLE IF EXISTS {part.name}")
