"""Place the queued jobs of a workflow by hand, as one group."""

from uuid import UUID

from apps.jobs.engine.move import lines
from apps.jobs.engine.pause import Steered
from apps.sql import Statement, Steps, Verb

_move = Statement.beside(__file__, Steered)


def move_workflow_steps(*, workflow_id: UUID, to: str) -> Steps[list[Steered]]:
    """Move what is queued of a workflow up, down, to the top or the bottom of each line it stands in.

    It closes ranks: afterwards its jobs of one kind stand together, in the order they had. Answers all that is queued.
    """
    yield from lines.ask(workflow_id=workflow_id)
    rows: list[Steered] = yield from _move.ask(workflow_id=workflow_id, to=to)
    return rows


move_workflow = Verb(move_workflow_steps)
