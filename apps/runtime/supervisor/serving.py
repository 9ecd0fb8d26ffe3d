"""Which queues a worker serves: those it was given, or every one there is; read again now and then."""

import asyncio
from contextlib import suppress

import psycopg
import structlog

from apps.errors import NotFound
from apps.queues.engine.served import served
from apps.runtime.supervisor.noticing import Noticing
from apps.runtime.supervisor.schema import applied, refuse_older
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire
from apps.sql import Trouble, trouble

EVERY = 5.0  # seconds
AT_ONCE = 0.1  # seconds between two looks, however many queues are new

log = structlog.get_logger("fencepost.worker")


class Serving:
    def __init__(self, state: State, wire: Wire) -> None:
        self.state = state
        self.wire = wire
        self.noticing = Noticing(state, wire)

    async def run(self) -> None:
        """Keep the list current until cancelled."""
        while True:
            is_news = await self._news()
            try:
                await self.look()
                if is_news:
                    self.state.has_work.set()
                await self.noticing.look()
            except (psycopg.Error, OSError) as error:
                if is_news:
                    self.state.has_strangers.set()  # still
                if trouble(error) is Trouble.FATAL:  # of a database that is away the claims tell, on the same wire
                    log.warning("queues not read", error=str(error).strip())

    async def _news(self) -> bool:
        """Wait for the next look: until work is named of a queue that is not on the list, or for a while."""
        await asyncio.sleep(AT_ONCE)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.state.has_strangers.wait(), EVERY)
        is_news = self.state.has_strangers.is_set()
        self.state.has_strangers.clear()
        return is_news

    async def look(self, *, patiently: bool = False) -> None:
        """Read the list. Patiently: wait for a database that is away until told to stop, and refuse one that is too old."""
        names = list(self.state.options.queues)
        if patiently:
            refuse_older(await self.wire.send_until_answered(applied.on, until=self.state.stopped))
            found = await self.wire.send_until_answered(
                lambda connection: served.on(connection, names=names), until=self.state.stopped
            )
        else:
            found = await self.wire.send(lambda connection: served.on(connection, names=names))
        queues = {row.id: row.name for row in found}
        self.state.weights = {row.id: row.weight for row in found}
        if queues != self.state.queues:
            self.state.queues = queues
            self.state.has_work.set()

    def refuse_unknown(self) -> None:
        """Raise NotFound for a queue that was asked for and does not exist."""
        missing = set(self.state.options.queues) - set(self.state.queues.values())
        if missing:
            raise NotFound(f"There is no queue {', '.join(sorted(missing))}; name it organization/project/queue.")
