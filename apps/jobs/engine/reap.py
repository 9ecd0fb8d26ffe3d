"""Take back the jobs of sessions that fell silent, and end attempts that outlived their deadline."""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from apps.jobs.engine.report import Ended, Reported, report_steps
from apps.jobs.states import Outcome
from apps.sql import Statement, Steps, Verb

LIMIT = 1000


@dataclass(frozen=True, slots=True)
class _Overdue:
    job_id: UUID
    fence: int
    session_id: UUID
    lost: bool


_sessions = Statement.beside(__file__, lambda session_id: session_id, "reap_sessions")
_overdue = Statement.beside(__file__, _Overdue)


def reap_steps(*, calm_seconds: float, limit: int = LIMIT) -> Steps[list[Reported]]:
    """Report lost or timed out whatever nobody runs any more, up to `limit` jobs.

    `calm_seconds` is how long the caller has been in touch with a server it knows: a session is
    only taken for silent after one lease of that, so that an outage loses no job that still runs.
    """
    gone: list[UUID] = yield from _sessions.ask(calm_seconds=calm_seconds)
    rows: list[_Overdue] = yield from _overdue.ask(
        gone=gone, grace_seconds=settings.DEADLINE_GRACE_SECONDS, limit=limit
    )
    if not rows:
        return []
    return (yield from report_steps(ended=[_verdict(row) for row in rows]))


def _verdict(row: _Overdue) -> Ended:
    if row.lost:
        outcome, name, why = Outcome.LOST, "WorkerLost", "The worker fell silent: its lease ran out."
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
