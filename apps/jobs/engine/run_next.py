"""Let one job be the next that its queue hands out."""

from typing import Any
from uuid import UUID

from apps.jobs.engine.move import in_turn
from apps.jobs.engine.pause import Steered
from apps.sql import Statement, Steps, Verb

_run_next = Statement.beside(__file__, Steered)


def run_next_steps(*, job_id: UUID) -> Steps[Steered | None]:
    """Queue a job before all others of its queue, whatever their priority; None if it neither queues nor waits for its time.

    Of two that are asked for, the last one is next.
    """

    def ask(queue_id: UUID) -> Steps[Steered | None]:
        rows: list[Any] = yield from _run_next.ask(job_id=job_id, queue_id=queue_id)
        return rows[0] if rows else None

    done = yield from in_turn(job_id, ask)
    return done


run_next = Verb(run_next_steps)
