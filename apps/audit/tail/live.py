"""The log as it grows: one follower of the database per process, any number of readers behind it.

A process LISTENs on one connection and reads on another, each fact once, into a short memory per
project; readers take from that memory, or from the log while they are further behind. Nothing is
kept per reader but its number, so a slow one costs no memory.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
import structlog
from django.conf import settings

from apps.audit.tail.read import Frame, Held, heads, held_on, read_events_on
from apps.errors import CursorAhead
from apps.sql import listen, open_async

CHANNEL = "fencepost_events"  # relay_notify.sql
MEMORY = 2000  # frames kept per project that has readers
PAGE = 500
POLL_SECONDS = 1.0  # looks at the heads that no notification asked for

log = structlog.get_logger(__name__)

type Complete = Callable[[psycopg.AsyncConnection[Any], list[Frame]], Awaitable[list[Frame]]]


class _Line:
    """What is known of one project while somebody follows it."""

    def __init__(self, at: Held) -> None:
        self.seen = at.head
        self.timeline = at.timeline
        self.broken = False  # another history: readers must start again
        self.recent: deque[Frame] = deque(maxlen=MEMORY)
        self.grew = asyncio.Event()
        self.readers = 0

    def add(self, frames: list[Frame]) -> None:
        if frames:
            self.recent.extend(frames)
            self.seen = frames[-1].seq
            self.tell()

    def tell(self) -> None:
        grew, self.grew = self.grew, asyncio.Event()
        grew.set()

    def after(self, seq: int) -> list[Frame] | None:
        """The frames after a number; None if they are no longer, or were never, in memory."""
        if seq >= self.seen:
            return []
        if not self.recent or self.recent[0].seq > seq + 1:
            return None
        start = seq + 1 - self.recent[0].seq
        return list(islice(self.recent, start, start + PAGE))


class Follower:
    """One reader's place in a project's log."""

    def __init__(self, tail: "_Tail", project_id: UUID, line: _Line, at: Held, after: int) -> None:
        self.tail, self.project_id, self.line, self.held = tail, project_id, line, at
        self.seq = after

    @property
    def behind(self) -> int:
        """How many frames there are that this reader has not been given."""
        return self.line.seen - self.seq

    async def next(self) -> list[Frame]:
        """Wait for the frames after the last ones given. Raises CursorAhead after a failover that lost numbers."""
        while True:
            line, grew = self.line, self.line.grew
            if line.broken:
                raise CursorAhead
            frames = line.after(self.seq)
            if frames is None:
                frames = await self.tail.read(self.project_id, self.seq)
            if frames:
                self.seq = frames[-1].seq
                return frames
            await grew.wait()


class _Tail:
    """The follower of one process (of one event loop): it runs while it has readers."""

    def __init__(self, complete: Complete) -> None:
        self.complete = complete
        self.lines: dict[UUID, _Line] = {}
        self.hints: set[UUID] = set()
        self.woken = asyncio.Event()
        self.reader: psycopg.AsyncConnection[Any] | None = None
        self.opening = asyncio.Lock()
        self.tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def follow(self, project_id: UUID, after: int | None) -> AsyncIterator[Follower]:
        at = await held_on(await self._connection(), project_id)
        line = self.lines.setdefault(project_id, _Line(at))
        line.readers += 1
        self._start()
        try:
            yield Follower(self, project_id, line, at, at.head if after is None else after)
        finally:
            line.readers -= 1
            if not line.readers and self.lines.get(project_id) is line:
                del self.lines[project_id]
            if not self.lines:
                await self._stop()

    async def read(self, project_id: UUID, after: int) -> list[Frame]:
        connection = await self._connection()
        frames = await read_events_on(connection, project_id=project_id, after=after, limit=PAGE)
        return await self.complete(connection, frames)

    def _start(self) -> None:
        if not self.tasks:
            loops = [self._look] if settings.POLL_ONLY else [self._look, self._listen]
            self.tasks = [asyncio.create_task(_again(loop)) for loop in loops]
            for task in self.tasks:
                task.add_done_callback(_complain)

    async def _stop(self) -> None:
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with self.opening:
            if self.reader is not None and not self.lines:
                reader, self.reader = self.reader, None
                await reader.close()

    async def _connection(self) -> psycopg.AsyncConnection[Any]:
        async with self.opening:
            if self.reader is None or self.reader.closed or self.reader.broken:
                self.reader = await open_async()
            return self.reader

    async def _listen(self) -> None:
        async with await open_async() as ears:
            await listen(ears, CHANNEL)
            self._hear("")  # whatever was said while nobody listened
            async for said in ears.notifies():
                self._hear(said.payload)

    def _hear(self, payload: str) -> None:
        named = {UUID(project) for project in payload.split(",") if project}
        self.hints |= named & self.lines.keys() if named else self.lines.keys()
        if self.hints:
            self.woken.set()

    async def _look(self) -> None:
        """Read what is new: of the projects named by a notification, and of all once in a while."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.woken.wait(), POLL_SECONDS)
            named, self.hints = self.hints or set(self.lines), set()
            self.woken.clear()
            await self._catch_up(named)

    async def _catch_up(self, projects: set[UUID]) -> None:
        for head in await heads.on(await self._connection(), projects=list(projects)):
            line = self.lines.get(head.project_id)
            if line and (head.seq < line.seen or head.timeline != line.timeline):
                line.broken = True
                self.lines.pop(head.project_id)
                line.tell()
            while line and not line.broken and line.seen < head.seq:
                frames = await self.read(head.project_id, line.seen)
                line.add(frames)
                if not frames:
                    break


async def _again(loop: Any) -> None:
    """Run a loop for good: after an error of the database, once more, a little later."""
    while True:
        try:
            await loop()
        except (psycopg.Error, OSError) as error:
            log.warning("event log unreadable, trying again", error=str(error))
            await asyncio.sleep(random.uniform(0.2, 1.0))  # noqa: S311


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("event log no longer followed", error=repr(error))


_tails: WeakKeyDictionary[asyncio.AbstractEventLoop, _Tail] = WeakKeyDictionary()


@asynccontextmanager
async def follow(project_id: UUID, *, complete: Complete, after: int | None = None) -> AsyncIterator[Follower]:
    """Follow a project's log from a number on; from now on, if none is given. `complete` adds to each fact, once per process."""
    tail = _tails.setdefault(asyncio.get_running_loop(), _Tail(complete))
    async with tail.follow(project_id, after) as follower:
        yield follower
