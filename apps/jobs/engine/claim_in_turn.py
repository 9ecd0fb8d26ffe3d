"""Claims for whoever cannot know that a session claims once at a time, such as the remote workers' door."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from apps.jobs.engine.claim import Claimed
from apps.jobs.engine.claim_aimed import claim_aimed_steps
from apps.sql import Statement, Steps, Verb

_turn = Statement.beside(__file__, lambda nothing: None, "claim_turn")


def claim_in_turn_steps(
    *, session_id: UUID, queues: Sequence[UUID], offers: Mapping[str, int | None], limit: int
) -> Steps[Claimed]:
    """Claim when no other claim of this session is under way; see claim and claim_aimed, whose jobs are among them."""
    yield from _turn.ask(session_id=session_id)
    return (yield from claim_aimed_steps(session_id=session_id, queues=queues, offers=offers, limit=limit))


claim_in_turn = Verb(claim_in_turn_steps)
