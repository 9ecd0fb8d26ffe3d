"""Progress travels beside the log: no numbers, nothing kept, the last word counts.

One look a second per process serves every socket of it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg

from apps.sql import Statement, open_async

LOOK_SECONDS = 1.0
LIMIT = 1000  # jobs a look tells of
OVERLAP = timedelta(seconds=2)  # a heartbeat's time is a little older than its commit


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one running job says it is."""

    project_id: UUID
    queue_id: UUID
    job_id: UUID
    attempt: int
    stage: str
    done: int
    total: int | None
    note: str
    at: datetime


_progress = Statement.beside(__file__, Progress)


class Watcher:
    """One socket's view: what was said since it last took."""

    def __init__(self) -> None:
        self.said: dict[UUID, Progress] = {}

    def take(self) -> list[Progress]:
        said, self.said = self.said, {}
        return list(said.values())


class _Watch:
    """The one look a second of an event loop; it runs while somebody watches."""

    def __init__(self) -> None:
        self.watchers: dict[UUID, set[Watcher]] = {}
        self.known: dict[UUID, datetime] = {}
        self.task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watch(self, project_id: UUID) -> AsyncIterator[Watcher]:
        watcher = Watcher()
        self.watchers.setdefault(project_id, set()).add(watcher)
        if self.task is None:
            self.task = asyncio.create_task(self._run())
        try:
            yield watcher
        finally:
            self.watchers[project_id].discard(watcher)
            if not self.watchers[project_id]:
                del self.watchers[project_id]
            if not self.watchers and self.task is not None:
                task, self.task = self.task, None
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            with suppress(psycopg.Error, OSError):  # the log's own follower complains already
                async with await open_async() as connection:
                    while True:
                        await self._look(connection)
                        await asyncio.sleep(LOOK_SECONDS)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        since = max(self.known.values(), default=datetime.now(UTC) - timedelta(minutes=1)) - OVERLAP
        rows = await _progress.on(connection, projects=list(self.watchers), since=since, limit=LIMIT)
        for row in rows:
            if self.known.get(row.job_id) != row.at:
                for watcher in self.watchers.get(row.project_id, ()):
                    watcher.said[row.job_id] = row
        self.known = {row.job_id: row.at for row in rows} or self.known


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watch] = WeakKeyDictionary()


@asynccontextmanager
async def watch(project_id: UUID) -> AsyncIterator[Watcher]:
    """Watch the progress of a project's jobs."""
    async with _watches.setdefault(asyncio.get_running_loop(), _Watch()).watch(project_id) as watcher:
        yield watcher
