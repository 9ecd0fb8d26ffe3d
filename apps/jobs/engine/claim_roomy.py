"""Hand jobs of a queue with limits to a session before its gate is held; then the gate is charged, or all is undone."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import psycopg

from apps.jobs.engine.claim import Claimed, answer, one_plan
from apps.jobs.engine.claim_gated import claim_gated_on, params
from apps.sql import Statement, Steps, Verb, in_one_go

SPARE = 64  # candidates beyond the limit: so many may be in the hands of others, who wait for the gate
FULL = "the gate has no place left"  # so claim_roomy_charge.sql fails

_claim = Statement.beside(__file__, lambda *values: values)
_lane = Statement.beside(__file__, lambda *values: values, "claim_lane")
_charge = Statement.beside(__file__, lambda nothing: None, "claim_roomy_charge")


def claim_roomy_steps(
    *, session_id: UUID, queue_id: UUID, offers: Mapping[str, int | None], limit: int
) -> Steps[Claimed]:
    """Claim up to `limit` jobs of a queue whose gates are roomy; see claim_gated, and gates for which are.

    `offers`: of what the session has handlers for, the types of which something waits (gates says so too).
    Raises psycopg's or Django's DataError if the gate has no place left for what was found: ask claim_gated then.
    """
    yield from one_plan.ask()
    found, asked = _found(session_id, queue_id, offers, limit)
    rows = yield from found.ask(**asked)
    yield from _charge.ask(queue_id=queue_id)
    return answer(rows)


claim_roomy = Verb(claim_roomy_steps)


async def claim_roomy_on(
    connection: psycopg.AsyncConnection[Any],
    *,
    session_id: UUID,
    queue_id: UUID,
    offers: Mapping[str, int | None],
    limit: int,
) -> Claimed:
    """The same from a worker, in one round trip. Who is turned away holds the gate first the next time: that gets what there is."""
    found = _found(session_id, queue_id, offers, limit)
    try:
        _, rows, _ = await in_one_go(connection, (one_plan, {}), found, (_charge, {"queue_id": queue_id}))
    except psycopg.errors.InvalidTextRepresentation as error:
        if FULL not in str(error):
            raise
        return await claim_gated_on(connection, session_id=session_id, queue_id=queue_id, offers=offers, limit=limit)
    return answer(rows)


def _found(
    session_id: UUID, queue_id: UUID, offers: Mapping[str, int | None], limit: int
) -> tuple[Statement[Any], dict[str, Any]]:
    """What finds and takes them: jobs of one type stand in one line, in which nobody need look ahead."""
    asked = params(session_id, queue_id, offers, limit, spare=SPARE)
    if len(offers) > 1:
        return _claim, asked
    [(name, timeout_ms)] = offers.items()
    return _lane, {**asked, "type": name, "timeout_ms": timeout_ms}
