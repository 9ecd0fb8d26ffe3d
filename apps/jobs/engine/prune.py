"""What is past its retention goes: whole days where nothing keeps them, else in batches."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from django.conf import settings

from apps.audit.engine.days import Cut, Daily, drop, existing, older
from apps.jobs.engine.discard import discard_steps
from apps.jobs.engine.partition import ATTEMPT, JOB, LOG
from apps.jobs.engine.ready import NOWHERE
from apps.sql import Statement, Steps, Verb

LIMIT = 1000  # rows that one statement deletes
EDGES = 10_000  # that hang on them: then fewer rows
ROUNDS = 1000  # such statements of one call and day


@dataclass(frozen=True, slots=True)
class _Shelf:
    """One queue's jobs on a day's shelf: are they past its retention, does a live child hang on one of them."""

    queue_id: UUID
    expired: bool
    held: bool


@dataclass(frozen=True, slots=True)
class _Gone:
    """How many went at once, and whether it was a limit that kept others."""

    jobs: int
    more: bool


_shelves = Statement.beside(__file__, _Shelf, "prune_shelves")
_expired = Statement.beside(__file__, _Gone, "prune_expired")
_ties: Statement[UUID] = Statement.beside(__file__, lambda job_id: job_id, "prune_ties")
_longest = Statement.beside(__file__, int, "prune_longest")
_dead: Statement[UUID] = Statement.beside(__file__, lambda job_id: job_id, "prune_dead")
_groups = Statement.beside(__file__, int, "prune_groups")
_sessions = Statement.beside(__file__, int, "prune_sessions")
_ticks = Statement.beside(__file__, int, "prune_ticks")
_minutes = Statement.beside(__file__, int, "prune_minutes")


def prune() -> list[str]:
    """Drop the days of jobs, ledger and logs that nothing keeps any more; answers the partitions that went."""
    [longest] = _longest(default_days=settings.RETENTION_JOBS_DAYS)
    gone = _drop(LOG, older(LOG, days=settings.RETENTION_EVENTS_DAYS))
    gone += [part.name for part in older(JOB, days=0) if _prune_day(part)]
    kept = min(part.day for part in existing(JOB))  # the ledger of a day that something keeps is kept too
    gone += _drop(ATTEMPT, [part for part in older(ATTEMPT, days=longest) if part.day < kept])
    _groups(days=longest, limit=LIMIT)
    return gone


def prune_dead_steps(*, limit: int = LIMIT) -> Steps[int]:
    """Discard dead letters past their retention, each with an event; answers how many."""
    ids = yield from _dead.ask(default_days=settings.RETENTION_DEAD_LETTER_DAYS, limit=limit, edges=EDGES)
    if not ids:
        return 0
    return len((yield from discard_steps(ids=ids)))


prune_dead = Verb(prune_dead_steps)


def prune_sessions() -> int:
    """Forget sessions that ended, or fell silent, long ago and hold nothing."""
    return _sessions(days=settings.RETENTION_EVENTS_DAYS, limit=LIMIT)[0]


def prune_ticks() -> int:
    """Forget some ticks older than any job is kept by default; answers how many."""
    return _ticks(days=settings.RETENTION_JOBS_DAYS, limit=LIMIT)[0]


def prune_minutes() -> int:
    """Forget some minutes of the rollup whose ledger is gone; answers how many."""
    return _minutes(days=settings.RETENTION_JOBS_DAYS, limit=LIMIT)[0]


def _prune_day(part: Cut) -> bool:
    """Drop a day all of whose jobs are past their retention; of another delete those that are."""
    if not part.attached or part.leaving:
        drop(JOB, part)
        return True
    shelves = _shelves(day=part.day, age=part.age, default_days=settings.RETENTION_JOBS_DAYS)
    expired = [shelf.queue_id for shelf in shelves if shelf.expired]
    if len(expired) == len(shelves) and not any(shelf.held for shelf in shelves):
        if not shelves and part.age <= settings.RETENTION_JOBS_DAYS:
            return False  # a quiet day: it goes with its neighbours
        _untie(part.day)
        drop(JOB, part)
        return True
    if expired:
        _delete(part.day, expired)
    return False


def _untie(day: date) -> None:
    after = NOWHERE
    while some := _ties(day=day, after=after, limit=LIMIT, edges=EDGES):
        [after] = some


def _delete(day: date, queues: Collection[UUID]) -> None:
    for _ in range(ROUNDS):
        [gone] = _expired(day=day, queues=list(queues), limit=LIMIT, edges=EDGES)
        if not gone.more:
            return


def _drop(table: Daily, parts: list[Cut]) -> list[str]:
    for part in parts:
        drop(table, part)
    return [part.name for part in parts]
