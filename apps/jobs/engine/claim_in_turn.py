"""Claims for whoever cannot know that a session claims once at a time, such as the remote workers' door."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from apps.jobs.engine.claim import NO_HINT, Claimed, Hint
from apps.jobs.engine.claim_aimed import claim_aimed_steps
from apps.jobs.engine.claim_gated import claim_gated_steps
from apps.sql import Statement, Steps, Verb

claim_turn = Statement.beside(__file__, lambda *nothing: None, "claim_turn")


def claim_in_turn_steps(
    *, session_id: UUID, queues: Sequence[UUID], offers: Mapping[str, int | None], limit: int, hint: Hint = NO_HINT
) -> Steps[Claimed]:
    """Claim when no other claim of this session is under way; see claim and claim_aimed, whose jobs are among them."""
    yield from claim_turn.ask(session_id=session_id)
    return (yield from claim_aimed_steps(session_id=session_id, queues=queues, offers=offers, limit=limit, hint=hint))


claim_in_turn = Verb(claim_in_turn_steps)


def _gated_steps(*, session_id: UUID, queue_id: UUID, offers: Mapping[str, int | None], limit: int) -> Steps[Claimed]:
    """The same from one queue that has limits; see claim_gated."""
    yield from claim_turn.ask(session_id=session_id)
    return (
        yield from claim_gated_steps(session_id=session_id, queue_id=queue_id, offers=offers, limit=limit, aimed=True)
    )


claim_gated_in_turn = Verb(_gated_steps)
