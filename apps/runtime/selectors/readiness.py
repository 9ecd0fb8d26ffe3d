"""Whether a process that serves can do its work here: what /readyz says.

Looked at on a connection of its own, so that no pool, no long request and no open transaction stands
in between, with an end to the patience; and at most once a second, however many probes there are.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache

import psycopg
import structlog

from apps.audit.engine.days import days_left
from apps.audit.engine.partition import EVENT
from apps.audit.engine.writable import writable
from apps.jobs.engine.partition import TABLES
from apps.runtime.supervisor.schema import applied, unapplied
from apps.sql import Line, bounded, open_async

DAYS = 3  # that must be cut ahead; the janitor keeps thirty
PATIENCE = 1.0  # seconds the database has to answer, once it has let us in
LASTS = 1.0  # seconds an answer is good for

log = structlog.get_logger("fencepost.web")

type Facts = dict[str, object]


@dataclass(frozen=True, slots=True)
class Readiness:
    """Each fact is what could be seen; behind a database that is away nothing can be."""

    database: bool = False
    writable: bool = False  # no standby, not read only
    migrated: bool = False
    days_left: int = 0  # for which there are partitions, today not counted

    @property
    def ready(self) -> bool:
        return self.database and self.writable and self.migrated and self.days_left >= DAYS

    @property
    def facts(self) -> Facts:
        return {"live": True, "ready": self.ready, **asdict(self)}


async def look() -> Readiness:
    """See for oneself."""
    try:
        line = await open_async("probe")
    except (psycopg.Error, OSError):
        return Readiness()
    try:
        async with bounded(line, PATIENCE):
            return await _seen(line)
    except psycopg.errors.UndefinedTable:
        return Readiness(database=True)  # nobody has migrated it yet
    except (psycopg.Error, OSError):
        return Readiness()
    finally:
        await line.close()


async def _seen(line: Line) -> Readiness:
    [takes_writes] = await writable.on(line)
    return Readiness(
        database=True,
        writable=takes_writes,
        migrated=_is_migrated(frozenset(await applied.on(line))),
        days_left=await days_left.on(line, EVENT, *TABLES),
    )


@lru_cache(maxsize=1)
def _is_migrated(seen: frozenset[tuple[str, str]]) -> bool:
    """Of the same migrations once only: it reads this code's from the disk."""
    return not unapplied(set(seen))


class Watch:
    """What was seen last, and for how long that is good. A change is logged, an answer never."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.lock = threading.Lock()
        self.seen = Readiness()
        self.seen_at: float | None = None

    def __call__(self) -> Readiness:
        """From any thread that runs no event loop; whoever comes while another looks waits for what it sees."""
        with self.lock:
            if self.seen_at is None or self.now() - self.seen_at >= LASTS:
                self._keep(asyncio.run(look()))
            return self.seen

    def _keep(self, seen: Readiness) -> None:
        if seen.ready != self.seen.ready or self.seen_at is None:
            log.log(
                logging.INFO if seen.ready else logging.WARNING, "ready" if seen.ready else "not ready", **asdict(seen)
            )
        self.seen, self.seen_at = seen, self.now()


watch = Watch()
