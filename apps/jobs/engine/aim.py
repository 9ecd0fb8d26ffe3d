"""Say whom live jobs wait for, once they, their workflow or its reservation have changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement, Steps, Verb

FIRST_OF_JOB = UUID(int=1)  # the target of a job that stays with the worker which takes it first
FIRST_OF_WORKFLOW = UUID(int=2)  # … and of one that goes where the first of its workflow goes


@dataclass(frozen=True, slots=True)
class Aimed:
    """A live job, and whom it waits for now: a worker, a reservation, one of the above, or anybody."""

    job_id: UUID
    queue_id: UUID
    state: str
    target: UUID | None


_hold = Statement.beside(__file__, lambda workflow_id: workflow_id, "aim_hold")
_aim = Statement.beside(__file__, Aimed)


def aim_steps(*, ids: Sequence[UUID] = (), workflow_id: UUID | None = None) -> Steps[list[Aimed]]:
    """Set the target of these jobs, or of all that live of a workflow, in the caller's transaction."""
    asked = {"ids": list(ids), "workflow_id": workflow_id}
    yield from _hold.ask(**asked)
    return (yield from _aim.ask(**asked))


aim = Verb(aim_steps)
