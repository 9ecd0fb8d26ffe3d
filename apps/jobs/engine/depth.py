"""Measure how deep queues are, for whoever asks too often to count."""

from typing import Any
from uuid import UUID

import psycopg

from apps.sql import Statement

EVERY_MS = 1500  # between two turns, whichever scheduler takes them
CAP = 1_000_000  # jobs counted of a queue, and the deepest a queue may be capped at
REST_US = 5  # for which a queue is left alone, for each job that was counted: about twenty times as long as it took
LIMIT = 1000  # queues a turn
HEADS = 64  # types and priorities of a queue whose first jobs are looked at

_depth = Statement.beside(__file__, lambda queue_id: queue_id)


def _params(every_ms: int, limit: int) -> dict[str, Any]:
    return {"every_ms": every_ms, "cap": CAP, "rest_us": REST_US, "limit": limit, "heads": HEADS}


def depth(*, every_ms: int = EVERY_MS, limit: int = LIMIT) -> list[UUID]:
    """Measure what is due and answer which queues that were; nothing where somebody else has just done so."""
    return _depth(**_params(every_ms, limit))


async def depth_on(connection: psycopg.AsyncConnection[Any]) -> list[UUID]:
    """The same from a scheduler."""
    return await _depth.on(connection, **_params(EVERY_MS, LIMIT))
