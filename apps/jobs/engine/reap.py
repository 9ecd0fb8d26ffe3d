"""Take back the jobs of sessions that fell silent, and end attempts that outlived their deadline."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings

from apps.jobs.engine.report import Ended, Reported, report_steps
from apps.jobs.states import Outcome
from apps.sql import Statement, Steps, Verb

LIMIT = 1000
FOREVER = 1e9  # seconds
SILENT = "The worker fell silent: its lease ran out."
SUPERSEDED = "The worker was superseded: another process began under its name."


@dataclass(frozen=True, slots=True)
class _Overdue:
    job_id: UUID
    fence: int
    session_id: UUID
    lost: bool
    superseded: bool


_sessions = Statement.beside(__file__, lambda session_id: session_id, "reap_sessions")
_overdue = Statement.beside(__file__, _Overdue)


@dataclass(frozen=True, slots=True)
class Outage:
    """A time without touch with the server: how long it lasted, and how long ago it ended, both in seconds."""

    length: float
    age: float


def reap_steps(
    *, outages: Sequence[Outage] = (), asked_at: datetime | None = None, limit: int = LIMIT
) -> Steps[list[Reported]]:
    """Report lost or timed out whatever nobody runs any more, up to `limit` jobs.

    An outage of more than a quarter of its lease (and a second) excuses the silence of a session for one
    lease, so that it loses no job that still runs. So does one since `asked_at`, the database's time
    when the caller last heard of it.
    """
    gone: list[UUID] = yield from _sessions.ask(
        lengths=[float(min(one.length, FOREVER)) for one in outages],
        ages=[float(one.age) for one in outages],
        asked_at=asked_at,
    )
    rows: list[_Overdue] = yield from _overdue.ask(
        gone=gone, grace_seconds=settings.DEADLINE_GRACE_SECONDS, limit=limit
    )
    if not rows:
        return []
    return (yield from report_steps(ended=[_verdict(row) for row in rows]))


def _verdict(row: _Overdue) -> Ended:
    if row.lost:
        outcome, name, why = Outcome.LOST, "WorkerLost", SUPERSEDED if row.superseded else SILENT
    else:
        outcome, name, why = Outcome.TIMEOUT, "DeadlinePassed", "The attempt outlived its time limit."
    return Ended(
        job_id=row.job_id,
        fence=row.fence,
        session_id=row.session_id,
        outcome=outcome.value,
        error_class=name,
        error_message=why,
    )


reap = Verb(reap_steps)
