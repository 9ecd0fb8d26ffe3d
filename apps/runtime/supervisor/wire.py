"""A database connection that comes back: dropped when it breaks, made again with jittered back-off."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import structlog

from apps.sql import Trouble, open_async, trouble

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0

log = structlog.get_logger(__name__)

type Call[T] = Callable[[psycopg.AsyncConnection[Any]], Awaitable[T]]


class Wire:
    """One connection of one part of the worker; calls take turns on it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.turn = asyncio.Lock()
        self.connection: psycopg.AsyncConnection[Any] | None = None
        self.losses = 0  # how often it broke

    async def send[T](self, call: Call[T]) -> T:
        """Call once. Errors are psycopg's or OSError; a connection that broke is dropped."""
        async with self.turn:
            try:
                if self.connection is None or self.connection.closed:
                    self.connection = await open_async()
                return await call(self.connection)
            except BaseException as error:
                await self._look_after(error)
                raise

    async def send_until_answered[T](self, call: Call[T], *, give_up: Callable[[], bool] = lambda: False) -> T:
        """Call until the database answers; for calls that may be sent twice. Fatal errors are raised."""
        pause = FIRST_PAUSE
        while True:
            try:
                return await self.send(call)
            except (psycopg.Error, OSError) as error:
                if trouble(error) is Trouble.FATAL or give_up():
                    raise
                log.warning("database does not answer", wire=self.name, error=str(error).strip(), pause=round(pause, 2))
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _look_after(self, error: BaseException) -> None:
        """Drop the connection unless the error was a plain one of the statement's."""
        if isinstance(error, psycopg.Error) and trouble(error) is Trouble.FATAL:
            return
        if self.connection is not None and (self.connection.closed or not _is_idle(self.connection)):
            self.losses += 1
        await self.close()

    async def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            await connection.close()


def _is_idle(connection: psycopg.AsyncConnection[Any]) -> bool:
    return connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
