"""Say now and then which types wait in this worker's queues although no live worker knows them."""

import time

import structlog

from apps.jobs.engine.unannounced import Unannounced, unannounced_on
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire

EVERY = 30.0  # seconds between looks
AGAIN = 3600.0  # seconds until a type that still waits is named again
QUEUES = 1000  # looked at
NAMED = 10  # types in a line

log = structlog.get_logger("fencepost.worker")


class Noticing:
    def __init__(self, state: State, wire: Wire) -> None:
        self.state = state
        self.wire = wire
        self.looked_at = time.monotonic()  # the first look comes when a deploy has had its time
        self.named: dict[tuple[str, str], float] = {}  # queue and type → when it was last said

    async def look(self) -> None:
        """One line for all that is new, and silence while nothing changes. Errors are psycopg's or OSError."""
        now = time.monotonic()
        if now - self.looked_at < EVERY or not self.state.queues:
            return
        self.looked_at = now
        queues = list(self.state.queues)[:QUEUES]
        found = await self.wire.send(lambda connection: unannounced_on(connection, queue_ids=queues))
        said = {(self.state.queues.get(one.queue_id, ""), one.type): one for one in found}
        self.named = {key: at for key, at in self.named.items() if key in said and now - at < AGAIN}
        if new := {key: one for key, one in said.items() if key not in self.named}:
            self.named |= dict.fromkeys(new, now)
            _say(new)


def _say(new: dict[tuple[str, str], Unannounced]) -> None:
    named = [f"{kind} in {queue} ({one.jobs})" for (queue, kind), one in list(new.items())[:NAMED]]
    log.warning("types wait that no live worker knows", types=named, more=max(len(new) - NAMED, 0))
