"""Keep the lines that handlers write while they run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Line:
    """One line of one attempt; `number` counts from 1 within it."""

    job_id: UUID
    fence: int
    attempt: int
    number: int
    level: str
    message: str


_log = Statement.beside(__file__, int)
_log_held = Statement.beside(__file__, int, "log_held")


async def log_on(connection: psycopg.AsyncConnection[Any], lines: Sequence[Line]) -> None:
    """Insert lines from a worker, in one statement."""
    await _log.on(
        connection,
        ids=[line.job_id for line in lines],
        fences=[line.fence for line in lines],
        lines=[line.number for line in lines],
        attempts=[line.attempt for line in lines],
        levels=[line.level for line in lines],
        messages=[line.message for line in lines],
    )


def log_held(*, session_id: UUID, lines: Sequence[Line]) -> int:
    """Keep lines of attempts that this session holds, and answer how many; of others none is kept. `attempt` is looked up."""
    [kept] = _log_held(
        session_id=session_id,
        ids=[line.job_id for line in lines],
        fences=[line.fence for line in lines],
        lines=[line.number for line in lines],
        levels=[line.level for line in lines],
        messages=[line.message for line in lines],
    )
    return kept
