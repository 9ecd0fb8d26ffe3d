"""Give a waiting job to another worker."""

from dataclasses import dataclass
from uuid import UUID

from apps.jobs.engine.aim import aim_steps
from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Reassigned:
    """The name of the worker that it waited for; None: any."""

    before: str | None


_reassign = Statement.beside(__file__, Reassigned)


def reassign_steps(*, job_id: UUID, worker_id: UUID | None) -> Steps[Reassigned | None]:
    """Let a job wait for a worker, or for the first that takes it; None for one that runs, has ended or follows others."""
    rows = yield from _reassign.ask(job_id=job_id, worker_id=worker_id)
    if not rows:
        return None
    yield from aim_steps(ids=[job_id])
    return rows[0]


reassign = Verb(reassign_steps)
