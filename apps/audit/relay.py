"""Facts from the outbox get their numbers and move to the event log.

One relay at a time does it, wherever it runs; the others find the lock taken and do nothing. The
notification follows the commit in a statement of its own, so that no commit of others waits for it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from apps.sql import Statement

LIMIT = 1000  # facts moved by one statement
PACK = 1000  # jobs, about, that share one event
ROUNDS = 100  # statements of one call
SETTLED = 1.0  # seconds after which an id that was seen has its transaction's number
AFRESH = 60.0  # seconds until the walk begins at the very first fact once more
NAMES_MAX = 200  # projects named in one payload (8,000 bytes); more than that is everybody: ""


@dataclass(frozen=True, slots=True)
class Moved:
    """How far a project's numbers have come. The rest is told of all projects together.

    `facts` were moved, `last_id` the last of them. `own` is the number of the statement's transaction,
    `oldest` that of the oldest one that had not ended when it began.
    """

    project_id: UUID
    seq: int
    facts: int
    last_id: int
    oldest: int
    own: int


class Place:
    """Up to which id the outbox is known to be empty for ever, so that no walk need begin before.

    An id is given out before its transaction commits, and a fact that came late must still be moved
    before what happened to its job afterwards. So an id counts only when every transaction has ended
    that had begun when it was seen, and facts up to it were looked for once more after that.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.after = 0
        self.fresh_at = now()
        self.mark: tuple[int, int, float] | None = None

    def start(self) -> int:
        """Where to begin: now and then from the very first, should anything have gone wrong."""
        if self.now() - self.fresh_at >= AFRESH:
            self.after, self.fresh_at = 0, self.now()
        return self.after

    def see(self, seen: Moved) -> None:
        """Learn from what one statement moved."""
        if self.mark:
            last_id, own, at = self.mark
            # A moment lies between taking an id and having a transaction's number.
            if seen.oldest < own or self.now() - at < SETTLED:
                return
            if seen.facts < LIMIT or seen.last_id >= last_id:
                self.after = max(self.after, last_id)
        self.mark = (seen.last_id, seen.own, self.now())


_relay = Statement.beside(__file__, Moved)
_notify = Statement.beside(__file__, lambda *nothing: None, "relay_notify")


def relay() -> int:
    """Move what there is and answer how many facts that were; 0 too while another relay is at it."""
    moved, place = 0, Place()
    for _ in range(ROUNDS):
        rows = _relay(limit=LIMIT, pack=PACK, after=place.start())
        if rows:
            place.see(rows[0])
            _notify(projects=payload(rows))
            moved += rows[0].facts
        if not rows or rows[0].facts < LIMIT:
            break
    return moved


async def relay_on(connection: psycopg.AsyncConnection[Any], place: Place | None = None) -> int:
    """The same from a loop, on a connection in autocommit; `place` is kept from call to call."""
    moved, place = 0, place or Place()
    for _ in range(ROUNDS):
        rows = await _relay.on(connection, limit=LIMIT, pack=PACK, after=place.start())
        if rows:
            place.see(rows[0])
            await _notify.on(connection, projects=payload(rows))
            moved += rows[0].facts
        if not rows or rows[0].facts < LIMIT:
            break
    return moved


def payload(rows: Sequence[Moved]) -> str:
    """What a notification says: the projects, or nothing when they are too many to name."""
    return ",".join(str(row.project_id) for row in rows) if len(rows) <= NAMES_MAX else ""
