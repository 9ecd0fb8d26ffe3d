"""Wake-ups: LISTEN on a connection of its own. A hint only; the poll behind it is what counts."""

from uuid import UUID

import psycopg

from apps.jobs.engine.wake import CHANNEL
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import PATIENCE, Outage
from apps.sql import bounded, listen, open_async

QUIET = 30.0  # seconds without a word before we ask whether anybody is there


class Listening:
    def __init__(self, state: State) -> None:
        self.state = state
        self.outage = Outage("wake-ups")

    async def run(self) -> None:
        """Listen until cancelled; a connection that dies is replaced, and then one look is due."""
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                await self.outage.pause(error)

    async def _listen(self) -> None:
        async with await open_async("wake-ups") as line:
            while True:
                async with bounded(line, PATIENCE):
                    await listen(line, CHANNEL)
                self.outage.over()
                self.state.has_work.set()  # whatever was said while nobody listened
                async for notice in line.notifies(timeout=QUIET):
                    if self._names_strangers(notice.payload):
                        self.state.has_strangers.set()
                    if self._concerns(notice.payload):
                        self.state.has_work.set()

    def _names_strangers(self, payload: str) -> bool:
        """Who serves every queue reads the list again when one has work that is not on it, and looks for work then."""
        if not payload or self.state.options.queues:
            return False
        return any(UUID(queue_id) not in self.state.queues for queue_id in payload.split(","))

    def _concerns(self, payload: str) -> bool:
        """An empty payload is for everybody."""
        if not payload or not self.state.options.queues:
            return True
        return any(str(queue_id) in payload for queue_id in self.state.queues)
