"""Types that wait although no worker knows them: a deploy that is not finished, or a name that nobody meant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from apps.sql import Statement

CAP = 10_000  # jobs counted of a type: nobody reads further
STEPS = 500  # types looked at in a queue
LIMIT = 50  # types answered


@dataclass(frozen=True, slots=True)
class Unannounced:
    """Queued jobs of one type in one queue that no live worker would take."""

    queue_id: UUID
    type: str
    jobs: int  # equal to CAP: at least so many
    oldest_at: datetime  # when the first of them became due
    known_until: datetime | None  # when the last worker that knew the type ended, or fell silent

    @property
    def is_capped(self) -> bool:
        return self.jobs >= CAP


_look = Statement.beside(__file__, Unannounced)


def _params(queue_ids: Sequence[UUID]) -> dict[str, Any]:
    return {"queue_ids": list(queue_ids), "steps": STEPS, "limit": LIMIT, "cap": CAP}


def unannounced(*, queue_ids: Sequence[UUID]) -> list[Unannounced]:
    """What waits in these queues for a worker that nobody has started, longest first."""
    return _look(**_params(queue_ids))


async def unannounced_on(connection: psycopg.AsyncConnection[Any], *, queue_ids: Sequence[UUID]) -> list[Unannounced]:
    """The same from a worker."""
    return await _look.on(connection, **_params(queue_ids))
