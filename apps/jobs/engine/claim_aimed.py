"""Hand queued jobs to a session, those too that wait for its worker; who takes a workflow's first job binds it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg

from apps.jobs.engine.claim import NO_HINT, Claimed, Hint, answer, one_plan, params
from apps.sql import Statement, Steps, Verb, in_one_go

_claim = Statement.beside(__file__, lambda *values: values)
bind = Statement.beside(__file__, lambda job_id: job_id, "claim_aimed_bind")


def claim_aimed_steps(
    *, session_id: UUID, queues: Sequence[UUID], offers: Mapping[str, int | None], limit: int, hint: Hint = NO_HINT
) -> Steps[Claimed]:
    """Claim up to `limit` jobs from the open lines of these queues and from those of the session's worker; see claim."""
    rows = yield from _claim.ask(**params(session_id, queues, offers, limit, hint))
    yield from bind.ask()
    return _answer(rows)


claim_aimed = Verb(claim_aimed_steps)


async def claim_aimed_on(
    connection: psycopg.AsyncConnection[Any],
    *,
    session_id: UUID,
    queues: Sequence[UUID],
    offers: Mapping[str, int | None],
    limit: int,
    hint: Hint = NO_HINT,
) -> Claimed:
    """The same from a worker, in one round trip."""
    claim = params(session_id, queues, offers, limit, hint)
    _, rows, _ = await in_one_go(connection, (one_plan, {}), (_claim, claim), (bind, {}))
    return _answer(rows)


def _answer(rows: list[tuple[Any, ...]]) -> Claimed:
    """Where the worker's own lines ended says nothing about where the open ones begin."""
    return replace(answer(rows), ends={})
