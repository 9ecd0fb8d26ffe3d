"""Give a workflow to another worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.jobs.engine.aim import Aimed, aim_steps
from apps.jobs.engine.reassign import Reassigned
from apps.sql import Statement, Steps, Verb

FEW = 10  # of the jobs in the way are named


@dataclass(frozen=True, slots=True)
class ReassignedAll:
    """The worker it was bound to, its jobs, and (a few of) those that still run elsewhere: then it must not be."""

    before: str | None
    jobs: Sequence[Aimed]
    elsewhere: Sequence[UUID]


_reassign = Statement.beside(__file__, Reassigned)
_told = Statement.beside(__file__, lambda job_id: job_id, "reassign_workflow_told")


def reassign_workflow_steps(*, workflow_id: UUID, worker_id: UUID | None) -> Steps[ReassignedAll | None]:
    """Let the jobs that go where their workflow goes go to a worker, or to whoever takes one first.

    The caller undoes it where something runs elsewhere.
    """
    rows = yield from _reassign.ask(workflow_id=workflow_id, worker_id=worker_id)
    if not rows:
        return None
    jobs = yield from aim_steps(workflow_id=workflow_id)
    elsewhere = yield from _told.ask(workflow_id=workflow_id, worker_id=worker_id, few=FEW)
    return ReassignedAll(rows[0].before, jobs, elsewhere)


reassign_workflow = Verb(reassign_workflow_steps)
