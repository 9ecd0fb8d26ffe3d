"""Facts from the outbox get their numbers and move to the event log.

One relay at a time does it, wherever it runs; the others find the lock taken and do nothing. The
notification follows the commit in a statement of its own, so that no commit of others waits for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from apps.sql import Statement

LIMIT = 1000  # facts moved by one statement
PACK = 1000  # jobs, about, that share one event
ROUNDS = 100  # statements of one call
NAMES_MAX = 200  # projects named in one payload (8,000 bytes); more than that is everybody: ""


@dataclass(frozen=True, slots=True)
class Moved:
    """How far a project's numbers have come. `facts` counts the rows of all projects together."""

    project_id: UUID
    seq: int
    facts: int


_relay = Statement.beside(__file__, Moved)
_notify = Statement.beside(__file__, lambda *nothing: None, "relay_notify")


def relay() -> int:
    """Move what there is and answer how many facts that were; 0 too while another relay is at it."""
    moved = 0
    for _ in range(ROUNDS):
        rows = _relay(limit=LIMIT, pack=PACK)
        if rows:
            _notify(projects=payload(rows))
            moved += rows[0].facts
        if not rows or rows[0].facts < LIMIT:
            break
    return moved


async def relay_on(connection: psycopg.AsyncConnection[Any]) -> int:
    """The same from a loop, on a connection in autocommit."""
    moved = 0
    for _ in range(ROUNDS):
        rows = await _relay.on(connection, limit=LIMIT, pack=PACK)
        if rows:
            await _notify.on(connection, projects=payload(rows))
            moved += rows[0].facts
        if not rows or rows[0].facts < LIMIT:
            break
    return moved


def payload(rows: Sequence[Moved]) -> str:
    """What a notification says: the projects, or nothing when they are too many to name."""
    return ",".join(str(row.project_id) for row in rows) if len(rows) <= NAMES_MAX else ""
