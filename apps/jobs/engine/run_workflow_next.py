"""Let a workflow's jobs be the next that their queues hand out."""

from uuid import UUID

from apps.jobs.engine.move import lines
from apps.jobs.engine.pause import Steered
from apps.sql import Statement, Steps, Verb

_run_next = Statement.beside(__file__, Steered)


def run_workflow_next_steps(*, workflow_id: UUID) -> Steps[list[Steered]]:
    """Put what waits of a workflow, and is not paused, before all others of its queues; its own order stays."""
    yield from lines.ask(workflow_id=workflow_id)
    rows: list[Steered] = yield from _run_next.ask(workflow_id=workflow_id)
    return rows


run_workflow_next = Verb(run_workflow_next_steps)
