"""Hold waiting jobs back until somebody resumes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Steered:
    """A job that an operator's verb found as it may: its state before and after."""

    job_id: UUID
    queue_id: UUID
    before: str
    after: str


_pause = Statement.beside(__file__, Steered)


def pause_steps(*, ids: Sequence[UUID]) -> Steps[list[Steered]]:
    """Pause jobs that wait, for whatever they wait; answers those that it paused.

    No claim that begins after the commit takes one. What runs, is paused or has ended is left alone.
    """
    rows: list[Steered] = yield from _pause.ask(ids=list(ids))
    return rows


pause = Verb(pause_steps)
