"""Hand queued jobs to a session, each under a new fence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from apps.sql import Statement

SPARE = 10  # candidates beyond the limit: rows that other claimers lock are skipped


class Claim(NamedTuple):
    """One attempt to run, held by the session that claimed it. `payload` is the JSON text."""

    job_id: UUID
    queue_id: UUID
    type: str
    payload: str
    attempt: int
    max_attempts: int
    fence: int
    generation: int
    deadline_at: datetime
    limit_seconds: float  # until the deadline, by the database's clock
    workflow_id: UUID | None
    request_id: str | None
    losses: int = 0  # attempts that ended with their process or their worker
    releases: int = 0  # … and those that were handed back because a neighbour had to be killed


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim got. Nothing out of `candidates` > 0 means contended, not empty: claim again at once."""

    jobs: list[Claim]
    candidates: int

    @property
    def contended(self) -> bool:
        return not self.jobs and self.candidates > 0


_claim = Statement.beside(__file__, lambda *values: values)


def _params(session_id: UUID, queues: Sequence[UUID], offers: Mapping[str, int | None], limit: int) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "queues": list(queues),
        "types": list(offers),
        "timeouts_ms": list(offers.values()),
        "limit": limit,
        "reach": limit + SPARE,
    }


def _answer(rows: list[tuple[Any, ...]]) -> Claimed:
    jobs = [Claim(*values) for candidates, *values in rows if values[0] is not None]
    return Claimed(jobs=jobs, candidates=rows[0][0])


def claim(*, session_id: UUID, queues: Sequence[UUID], offers: Mapping[str, int | None], limit: int) -> Claimed:
    """Claim up to `limit` jobs of these queues and types for a live session.

    `offers` maps each job type the session has a handler for to that handler's own time limit in
    milliseconds (None: the queue's). The database grants no more than the session's concurrency
    leaves room for, and nothing to a session that is draining, fenced, ended or lapsed.
    """
    return _answer(_claim(**_params(session_id, queues, offers, limit)))


async def claim_on(
    connection: psycopg.AsyncConnection[Any],
    *,
    session_id: UUID,
    queues: Sequence[UUID],
    offers: Mapping[str, int | None],
    limit: int,
) -> Claimed:
    """The same from a worker, in one round trip."""
    return _answer(await _claim.on(connection, **_params(session_id, queues, offers, limit)))
