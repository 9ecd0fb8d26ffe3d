"""Dead letters go for good."""

from collections.abc import Sequence
from uuid import UUID

from apps.sql import Statement, Steps, Verb

_discard = Statement.beside(__file__, lambda job_id: job_id)


def discard_steps(*, ids: Sequence[UUID]) -> Steps[list[UUID]]:
    """Delete dead letters, each with an event; answers those that were there."""
    return (yield from _discard.ask(ids=list(ids)))


discard = Verb(discard_steps)
