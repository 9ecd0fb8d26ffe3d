"""Let a paused workflow go on."""

from uuid import UUID

from apps.jobs.engine.pause import Steered
from apps.sql import Statement, Steps, Verb

_resume = Statement.beside(__file__, Steered)


def resume_workflow_steps(*, workflow_id: UUID) -> Steps[list[Steered]]:
    """Resume whatever is paused in a workflow that the caller holds, each job in the state it was held in."""
    rows: list[Steered] = yield from _resume.ask(workflow_id=workflow_id)
    return rows


resume_workflow = Verb(resume_workflow_steps)
