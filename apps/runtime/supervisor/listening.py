"""Wake-ups: LISTEN on a connection of its own. A hint only; the poll behind it is what counts."""

import asyncio
import random

import psycopg
import structlog

from apps.jobs.engine.wake import CHANNEL
from apps.runtime.supervisor.state import State
from apps.sql import listen, open_async

log = structlog.get_logger("fencepost.worker")


class Listening:
    def __init__(self, state: State) -> None:
        self.state = state

    async def run(self) -> None:
        """Listen until cancelled; a connection that dies is replaced, and then one look is due."""
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                log.warning("not listening; polling", error=str(error).strip())
            await asyncio.sleep(random.uniform(0.5, 1.5))  # noqa: S311

    async def _listen(self) -> None:
        async with await open_async() as connection:
            await listen(connection, CHANNEL)
            self.state.has_work.set()
            async for notice in connection.notifies():
                if self._concerns(notice.payload):
                    self.state.has_work.set()

    def _concerns(self, payload: str) -> bool:
        """An empty payload is for everybody; a new queue may be one of ours that we do not know yet."""
        if not payload or not self.state.options.queues:
            return True
        return any(str(queue_id) in payload for queue_id in self.state.queues)
