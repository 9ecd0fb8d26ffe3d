"""A person lets a job go on that waits for somebody's word."""

from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Approved:
    """Where the job waits now; whoever has a concurrency key is still to be let through (admit)."""

    queue_id: UUID
    concurrency_key: str | None
    state: str


_approve = Statement.beside(__file__, Approved)


def approve_steps(*, job_id: UUID, by: str, note: str = "") -> Steps[Approved | None]:
    """Queue a job that awaits approval, or schedule it where its time lies ahead; None when it is in another state."""
    rows: list[Approved] = yield from _approve.ask(job_id=job_id, by=by, note=note)
    return rows[0] if rows else None


approve = Verb(approve_steps)
