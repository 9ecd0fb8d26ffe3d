"""Runs scheduler loops: each on its own beat, jittered, and none stops for another's trouble."""

import asyncio
import inspect
import random
import time

import psycopg
import structlog
from django.db import Error as DjangoError
from django.db import close_old_connections

from apps.handlers import Loop
from apps.sql import Line, Trouble, bounded, listen, open_async, trouble

JITTER = 0.1
PAUSE_MAX = 5.0
LONGEST = 60.0  # seconds a turn on a connection of its own may take: a peer that fell silent must not keep it for ever
REMIND = 30.0  # seconds between two lines that say the database is away, whichever loop finds it so

log = structlog.get_logger("fencepost.scheduler")


class Runner:
    """A scheduler: any number may run at once, anywhere. Loops with a coroutine get a connection of their own."""

    def __init__(self, loops: list[Loop]) -> None:
        self.loops = loops
        self.said_at = -REMIND

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for loop in self.loops:
                tasks.create_task(self._keep(loop), name=loop.name)

    async def _keep(self, loop: Loop) -> None:
        connection: Line | None = None
        pause = 0.0
        try:
            while True:
                try:
                    if connection is None and inspect.iscoroutinefunction(loop.run):
                        connection = await _open(loop)
                    wait = await self._turn(loop, connection)
                    pause = 0.0
                    await _rest(loop, connection, wait)
                except (psycopg.Error, DjangoError, OSError) as error:
                    self._complain(loop, error)
                    if connection is not None:
                        await connection.close()
                        connection = None
                    pause = min(max(pause * 2, loop.seconds, 0.2), PAUSE_MAX)
                    await asyncio.sleep(pause * _jitter())
        finally:
            if connection is not None:
                await connection.close()

    async def _turn(self, loop: Loop, connection: Line | None) -> float:
        """Run once; answers how long to wait before the next time."""
        began = time.monotonic()
        if connection is not None:
            async with bounded(connection, LONGEST):
                asked = await loop.run(connection)
        else:
            asked = await asyncio.to_thread(_on_django, loop)
        if (took := time.monotonic() - began) > max(5 * loop.seconds, 5):
            log.warning("loop is slow", loop=loop.name, seconds=round(took, 1))
        beat = loop.seconds * _jitter()
        return beat if asked is None else max(0.0, min(float(asked), beat))

    def _complain(self, loop: Loop, error: BaseException) -> None:
        text = str(error).strip()
        if trouble(error) is Trouble.FATAL:
            log.error("loop failed", loop=loop.name, error=text, exc_info=error)
        elif time.monotonic() - self.said_at >= REMIND:
            self.said_at = time.monotonic()
            log.warning("loop waits for the database", loop=loop.name, error=text)


async def _open(loop: Loop) -> Line:
    connection = await open_async("loops")
    if loop.channel:
        await listen(connection, loop.channel)
    return connection


async def _rest(loop: Loop, connection: Line | None, wait: float) -> None:
    """Until its next turn, or the first word on its channel; what was said during the last turn is heard too."""
    if connection is None or not loop.channel:
        await asyncio.sleep(wait)
        return
    async for _ in connection.notifies(timeout=wait, stop_after=1):
        pass


def _jitter() -> float:
    return random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311


def _on_django(loop: Loop) -> object:
    close_old_connections()
    try:
        return loop.run()
    finally:
        close_old_connections()
