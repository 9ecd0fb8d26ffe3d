"""What a scheduler does for the event log again and again."""

from typing import Any
from weakref import WeakKeyDictionary

import psycopg

from apps.audit.engine.partition import partition
from apps.audit.engine.prune import prune
from apps.audit.relay import Place, relay_on
from apps.handlers import Loop


async def relay_facts(connection: psycopg.AsyncConnection[Any]) -> None:
    """Number the facts and move them to the log; one relay at a time does it, the others find it taken."""
    await relay_on(connection, _places.setdefault(connection, Place()))


# Another connection may lead to another server.
_places: WeakKeyDictionary[psycopg.AsyncConnection[Any], Place] = WeakKeyDictionary()


def cut_days() -> None:
    """Keep the log's partitions ahead of the days, and no longer than events are kept."""
    partition()
    prune()


LOOPS = [
    Loop("relay", relay_facts, seconds=0.05),
    Loop("event-partitions", cut_days, seconds=3600),
]
