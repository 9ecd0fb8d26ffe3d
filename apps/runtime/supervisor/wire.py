"""A database connection that comes back: dropped when it breaks, made again with jittered back-off."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import structlog

from apps.sql import Line, Trouble, Unanswered, bounded, open_async, trouble

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
PATIENCE, LONGEST_PATIENCE = 5.0, 60.0  # seconds one call may take; more after each that took too long
REMIND = 30.0  # seconds between two lines about one outage
FLUTTER = 1.0  # … and about two that follow each other

log = structlog.get_logger("fencepost.worker")

type Call[T] = Callable[[psycopg.AsyncConnection[Any]], Awaitable[T]]


class Outage:
    """Trouble with the database as one part of the worker sees it: what is said of it, and how long to wait."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.since: float | None = None
        self.tries = 0
        self.told = False  # anything of this outage
        self.said, self.said_at = "", 0.0

    async def pause(
        self, error: BaseException, *, longest: float = LONGEST_PAUSE, until: asyncio.Event | None = None
    ) -> None:
        """After a call that failed: say so, though not each time, and wait, each time longer and never in step."""
        now = time.monotonic()
        if self.since is None:
            self.since, self.tries, self.told = now, 0, False
        text = _first_line(error)
        if text != self.said or now - self.said_at >= (REMIND if self.told else FLUTTER):
            self.said, self.said_at, self.told = text, now, True
            away = round(now - self.since, 1)
            log.warning("database does not answer", wire=self.name, error=text, seconds=away)
        pause = min(FIRST_PAUSE * 2 ** min(self.tries, 10), longest)
        self.tries += 1
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause * random.uniform(0.5, 1.5)):  # noqa: S311
                await (until or asyncio.Event()).wait()

    def over(self) -> None:
        if self.since is not None and self.told:
            away = round(time.monotonic() - self.since, 1)
            log.info("database answers again", wire=self.name, seconds=away, tries=self.tries)
        self.since = None


class Wire:
    """One connection of one part of the worker; calls take turns on it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.turn = asyncio.Lock()
        self.connection: Line | None = None
        self.patience = PATIENCE
        self.reached = False  # the server gave a sign of life when it was last tried …
        self.reached_at = 0.0  # … and has ever since then
        self.outage = Outage(name)

    async def send[T](self, call: Call[T]) -> T:
        """Call once. Errors are psycopg's or OSError; a connection that broke is dropped."""
        async with self.turn:
            try:
                if self.connection is None or self.connection.closed:
                    self.connection = await open_async(self.name)
                    self._reach()
                async with bounded(self.connection, self.patience):
                    answer = await call(self.connection)
            except BaseException as error:
                await self._look_after(error)
                raise
            if self.outage.since is not None or self.patience != PATIENCE:
                self.patience = PATIENCE
                self.outage.over()
            return answer

    async def send_until_answered[T](self, call: Call[T], *, until: asyncio.Event | None = None) -> T:
        """Call until the database answers; for calls that may be sent twice. Fatal errors are raised.

        Past `until`, every error is.
        """
        while True:
            try:
                return await self.send(call)
            except (psycopg.Error, OSError) as error:
                if trouble(error) is Trouble.FATAL or (until is not None and until.is_set()):
                    raise
                await self.outage.pause(error, until=until)
                if until is not None and until.is_set():
                    raise

    def _reach(self) -> None:
        if not self.reached:
            self.reached, self.reached_at = True, time.monotonic()

    async def _look_after(self, error: BaseException) -> None:
        """Drop the connection unless the error was a plain one of the statement's."""
        if isinstance(error, psycopg.Error) and trouble(error) is Trouble.FATAL:
            return
        if isinstance(error, Unanswered):
            self.patience = min(self.patience * 2, LONGEST_PATIENCE)
        if isinstance(error, psycopg.Error | OSError):
            self.reached = self.reached and _by_the_server(error)
        await self.close()

    async def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            await connection.close()


def _by_the_server(error: BaseException) -> bool:
    """Did a server that lives say this? One that cancels when it is asked to lives, however slow it is."""
    cause = error.__cause__ if isinstance(error, Unanswered) else error
    return getattr(cause, "sqlstate", None) is not None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
