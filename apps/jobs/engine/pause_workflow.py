"""Hold a whole workflow back until somebody resumes it."""

from uuid import UUID

from apps.jobs.engine.pause import Steered
from apps.sql import Statement, Steps, Verb

_pause = Statement.beside(__file__, Steered)


def pause_workflow_steps(*, workflow_id: UUID) -> Steps[list[Steered]]:
    """Pause whatever waits in a workflow that the caller holds; what runs goes on, but is not tried again meanwhile."""
    rows: list[Steered] = yield from _pause.ask(workflow_id=workflow_id)
    return rows


pause_workflow = Verb(pause_workflow_steps)
