"""The pool of a web process, and whether a connection that waited there still lives."""

import select
import time
from typing import Any
from weakref import WeakKeyDictionary

from psycopg import Connection
from psycopg_pool import ConnectionPool

BELIEVED = 1.0  # seconds after an answer
PATIENCE = 5.0  # seconds a request waits for a connection; for as long one that cannot be made is tried again

_answered: WeakKeyDictionary[Connection[Any], float] = WeakKeyDictionary()


def options(size: int) -> dict[str, Any]:
    """What Django hands on to psycopg's pool.

    It doubles its pauses while it tries to connect, and nobody else may try meanwhile: after an outage it would not look
    for as long as that had lasted. So it gives up soon, and whoever asks next tries at once.
    """
    return {"min_size": 1, "max_size": size, "timeout": PATIENCE, "reconnect_timeout": PATIENCE, "check": check}


def check(connection: Connection[Any]) -> None:
    """Ask the server, at the price of a round trip for each request, unless it answered lately and has been silent since.

    A server that ends a session says so and hangs up, which can be seen without asking. One that fell silent cannot, so
    no connection is believed for longer than a second. Raises psycopg's error where it lives no more.
    """
    from apps.sql import KEPT_PLANS

    now = time.monotonic()
    if connection not in _answered and connection.prepare_threshold is not None:
        with connection.transaction():
            connection.execute(KEPT_PLANS.format(local="FALSE"))
        _answered[connection] = now
    elif now - _answered.get(connection, 0.0) >= BELIEVED or _is_readable(connection):
        ConnectionPool.check_connection(connection)
        _answered[connection] = now


def _is_readable(connection: Connection[Any]) -> bool:
    """Nothing was asked, so whatever there is to read is a farewell or news."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
