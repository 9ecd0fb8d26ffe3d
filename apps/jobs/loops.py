"""What a scheduler does for jobs again and again. No leader: each loop may run anywhere, at once, again."""

import math
import time
from typing import Any

import psycopg
from django.conf import settings

from apps.handlers import Loop
from apps.jobs.engine import prune, server
from apps.jobs.engine.partition import partition
from apps.jobs.engine.promote import LIMIT, next_due, promote
from apps.jobs.engine.reap import LIMIT as REAP_LIMIT
from apps.jobs.engine.reap import reap
from apps.jobs.engine.wake import payload, wake_statement
from apps.jobs.engine.wake_left import wake_left

type Connection = psycopg.AsyncConnection[Any]

PROMOTE_SECONDS = 1.0
REAP_SECONDS = 2.0
JANITOR_SECONDS = 60.0
FOREVER = 1e9  # seconds


async def promote_due(connection: Connection) -> float:
    """Promote what is due and wake its workers; sleep until the next job is, at most a second."""
    promoted = await promote.on(connection, limit=LIMIT)
    if promoted:
        await wake_statement.on(connection, queues=payload({row.queue_id for row in promoted}))
    if sum(row.jobs for row in promoted) >= LIMIT:
        return 0.0
    due = await next_due.on(connection)
    return max(due[0], 0.0) if due else PROMOTE_SECONDS


class Reaper:
    """Remembers how long it has been in touch with a server it knows: an outage must not look like silence.

    Out of touch for over a quarter lease, or with a server on a new timeline, it starts to count
    anew, and takes nobody for silent for one lease. A mere reconnect changes nothing.
    """

    def __init__(self) -> None:
        self.timeline: str | None = None
        self.calm_since = -math.inf
        self.spoke_at = time.monotonic()

    async def __call__(self, connection: Connection) -> float:
        [timeline] = await server.timeline.on(connection)
        now = time.monotonic()
        if now - self.spoke_at > max(settings.LEASE_SECONDS / 4, 2 * REAP_SECONDS) or timeline != (
            self.timeline or timeline
        ):
            self.calm_since = now
        self.timeline, self.spoke_at = timeline, now
        rows = await reap.on(connection, calm_seconds=min(now - self.calm_since, FOREVER))
        return 0.0 if len(rows) >= REAP_LIMIT else REAP_SECONDS


async def reap_silent(connection: Connection) -> float:
    """Take back what nobody runs any more."""
    return await _reaper(connection)


_reaper = Reaper()


async def wake_what_is_left(connection: Connection) -> None:
    """Wake the dependents that one transaction could not, of very wide fan-outs."""
    await wake_left.on(connection)


def cut_days() -> None:
    """Keep the partitions ahead of the days, and no longer than anything in them is kept."""
    partition()
    prune.prune()


def discard_old() -> float:
    """Discard dead letters past their retention, and forget sessions of long ago."""
    prune.prune_sessions()
    return 0.0 if prune.prune_dead() >= prune.LIMIT else JANITOR_SECONDS


LOOPS = [
    Loop("promote", promote_due, seconds=PROMOTE_SECONDS),
    Loop("reap", reap_silent, seconds=REAP_SECONDS),
    Loop("dependents", wake_what_is_left, seconds=30),
    Loop("janitor", discard_old, seconds=JANITOR_SECONDS),
    Loop("partitions", cut_days, seconds=3600),
]
