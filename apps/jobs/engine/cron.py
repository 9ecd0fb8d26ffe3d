"""The ticks of schedules: hold those whose time has come, write down what became of each, and move them on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Due:
    """A schedule that is held, and the database's clock."""

    id: UUID
    queue_id: UUID
    cron_expr: str
    timezone: str
    job_type: str
    payload: str
    priority: int | None
    overlap_policy: str
    catchup_policy: str
    catchup_max: int
    jitter_seconds: int
    deadline_seconds: int | None
    next_run_at: datetime
    last_job_id: UUID | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TickRow:
    """What became of one tick."""

    schedule_id: UUID
    at: datetime
    outcome: str
    why: str = ""
    job_id: UUID | None = None
    deadline_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Where a schedule goes on; None leaves its last job as it was, and has it fire no more."""

    schedule_id: UUID
    next_run_at: datetime | None
    last_job_id: UUID | None = None
    trouble: str = ""


_due = Statement.beside(__file__, Due)
_note = Statement.beside(__file__, lambda schedule_id, at: (schedule_id, at), "cron_note")
_move = Statement.beside(__file__, lambda *nothing: None, "cron_move")
be_impatient = Statement.beside(__file__, str, "cron_patience")
next_tick = Statement.beside(__file__, float, "cron_next")


def due(*, limit: int, only: UUID | None = None) -> list[Due]:
    """Hold up to so many schedules whose time has come and that nobody else holds; `only` looks at one alone."""
    return _due(limit=limit, only=only)


def note(ticks: Sequence[TickRow]) -> set[tuple[UUID, datetime]]:
    """Write ticks into the ledger; answers those that were not in it yet, by schedule and time."""
    if not ticks:
        return set()
    fresh: list[tuple[UUID, datetime]] = _note(
        schedules=[one.schedule_id for one in ticks],
        ats=[one.at for one in ticks],
        outcomes=[one.outcome for one in ticks],
        whys=[one.why for one in ticks],
        jobs=[one.job_id for one in ticks],
        deadlines=[one.deadline_at for one in ticks],
    )
    return set(fresh)


def move(moves: Sequence[Moved]) -> None:
    """Say when each of these schedules is due next."""
    _move(
        schedules=[one.schedule_id for one in moves],
        nexts=[one.next_run_at for one in moves],
        jobs=[one.last_job_id for one in moves],
        troubles=[one.trouble for one in moves],
    )
