"""Hand jobs of one queue with limits to a session: the gate is held first, then the claim sees what it admits."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import psycopg

from apps.jobs.engine.claim import SPARE, Claimed, answer
from apps.jobs.engine.claim_aimed import bind
from apps.sql import Statement, Steps, Verb, in_one_go

CONTENDED = Claimed(jobs=[], candidates=1, gated=True)  # no shard to be had: full by now, or held by others

_turn = Statement.beside(__file__, lambda *settings: None, "claim_gate_turn")
_gate = Statement.beside(__file__, lambda shard, whole: shard, "claim_gate")
_claim = Statement.beside(__file__, lambda *values: values)


def claim_gated_steps(
    *,
    session_id: UUID,
    queue_id: UUID,
    offers: Mapping[str, int | None],
    limit: int,
    aimed: bool = False,
) -> Steps[Claimed]:
    """Claim up to `limit` jobs of a queue that has a cap, a rate or an open breaker; see claim and claim_aimed."""
    yield from _turn.ask(queue_id=queue_id)
    held = yield from _gate.ask(queue_id=queue_id)
    rows = yield from _claim.ask(**params(session_id, queue_id, offers, limit), aimed=aimed)
    if aimed:
        yield from bind.ask()
    return answer(rows) if held else CONTENDED


claim_gated = Verb(claim_gated_steps)


async def claim_gated_on(
    connection: psycopg.AsyncConnection[Any],
    *,
    session_id: UUID,
    queue_id: UUID,
    offers: Mapping[str, int | None],
    limit: int,
    aimed: bool = False,
) -> Claimed:
    """The same from a worker, in one round trip: the gate is held for no longer than the database needs."""
    asked, gate = params(session_id, queue_id, offers, limit), {"queue_id": queue_id}
    asks = [(_turn, gate), (_gate, gate), (_claim, {**asked, "aimed": aimed})]
    _, held, rows, *_ = await in_one_go(connection, *asks, *([(bind, {})] if aimed else []))
    return answer(rows) if held else CONTENDED


def params(
    session_id: UUID, queue_id: UUID, offers: Mapping[str, int | None], limit: int, *, spare: int = SPARE
) -> dict[str, Any]:
    """What a claim from one queue is sent with."""
    return {
        "session_id": session_id,
        "queue_id": queue_id,
        "types": list(offers),
        "timeouts_ms": list(offers.values()),
        "limit": limit,
        "reach": limit + spare,
    }
