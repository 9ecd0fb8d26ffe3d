"""Let paused jobs go on."""

from collections.abc import Sequence
from uuid import UUID

from apps.jobs.engine.pause import Steered
from apps.sql import Statement, Steps, Verb

_resume = Statement.beside(__file__, Steered)


def resume_steps(*, ids: Sequence[UUID]) -> Steps[list[Steered]]:
    """Resume paused jobs, each in the state it was held in; answers those that were paused."""
    rows: list[Steered] = yield from _resume.ask(ids=list(ids))
    return rows


resume = Verb(resume_steps)
