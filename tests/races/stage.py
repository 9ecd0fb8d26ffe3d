"""Where races are staged: calls on connections of their own, let go together, or stepped one past the other."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

from django.db import connection, connections, transaction

from apps.sql import open_own

PATIENCE = 20  # seconds until a test gives up on what should happen at once

BLOCKED = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
"""


def aside[T](call: Callable[[], T]) -> T:
    """Call on another connection while this one has a transaction open; it must not wait for anybody."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_alone, call).result(PATIENCE)


def together[T](*calls: Callable[[], T]) -> list[T]:
    """Let the calls go at one moment, each on a connection of its own; answers in order, or raises the first error."""
    barrier = Barrier(len(calls), timeout=PATIENCE)

    def go(call: Callable[[], T]) -> T:
        connection.ensure_connection()
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(_alone, lambda call=call: go(call)) for call in calls]
        return [future.result(PATIENCE) for future in futures]


@contextmanager
def meanwhile[T](call: Callable[[], T], *, then: str = "commit") -> Iterator["Future[T]"]:
    """Inside, a transaction is open; at its end the call has run into it and waits; then it is committed (or undone).

    with meanwhile(lambda: cancel(job)) as answer:
        complete(job)               # not committed yet
    assert answer.result() …        # what the call found once it was
    """
    with ThreadPoolExecutor(1) as pool:
        answer: Future[T] = Future()
        with transaction.atomic():
            yield answer
            running = pool.submit(_alone, call)
            _wait_until_blocked(running)
            transaction.set_rollback(then == "undo")
        _hand_on(running, answer)


def _hand_on[T](running: "Future[T]", answer: "Future[T]") -> None:
    error = running.exception(PATIENCE)
    if error is None:
        answer.set_result(running.result())
    else:
        answer.set_exception(error)


def _wait_until_blocked(running: "Future[Any]") -> None:
    """Until the database says that somebody waits for a lock; asked from outside, where its answer is not cached."""
    end = time.monotonic() + PATIENCE
    with open_own() as watcher:
        while time.monotonic() < end:
            if running.done():
                raise AssertionError(f"It did not wait: {running.exception() or running.result()!r}")
            if watcher.execute(BLOCKED).fetchone() != (0,):
                return
    raise AssertionError("Nobody came to wait.")


def _alone[T](call: Callable[[], T]) -> T:
    try:
        return call()
    finally:
        connections.close_all()
