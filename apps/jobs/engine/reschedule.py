"""Change when a waiting job is due."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Rescheduled:
    """A job with its new time: its state and its time before and after."""

    job_id: UUID
    queue_id: UUID
    before: str
    after: str
    run_at_before: datetime
    run_at: datetime


_reschedule = Statement.beside(__file__, Rescheduled)


def reschedule_steps(
    *, job_id: UUID, run_at: datetime | None = None, delay_ms: int | None = None
) -> Steps[Rescheduled | None]:
    """Let a waiting job be due at a time, or so long from now; with neither, now. None if it runs or has ended.

    One that is queued or scheduled becomes whichever fits; one that waits for its retry goes on doing so;
    one that is blocked, paused or waits for approval has the time count when it is let go.
    """
    rows: list[Rescheduled] = yield from _reschedule.ask(job_id=job_id, run_at=run_at, delay_ms=delay_ms)
    return rows[0] if rows else None


reschedule = Verb(reschedule_steps)
