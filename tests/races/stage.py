"""Where races are staged: calls on connections of their own, let go together, or stepped one past the other."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Thread

from django.db import connection, connections, transaction

from apps.sql import open_own

PATIENCE = 20  # seconds until a test gives up on what should happen at once

BLOCKED = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
"""


def aside[T](call: Callable[[], T]) -> T:
    """Call on another connection while this one has a transaction open; it must not wait for anybody."""
    return _apart(call).result(PATIENCE)


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


class Meeting[T]:
    """A call that runs into the transaction that is open."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._running: Future[T] | None = None

    def meet(self) -> None:
        """Start it, and go on when the database says that it waits for a lock."""
        if self._running is not None:
            return
        self._running = _apart(self._call)
        end = time.monotonic() + PATIENCE
        with open_own() as watcher:
            while time.monotonic() < end:
                if self._running.done():
                    raise AssertionError(f"It did not wait: {self.exception() or self.result()!r}")
                if watcher.execute(BLOCKED).fetchone() != (0,):
                    return
        raise AssertionError("Nobody came to wait.")

    def result(self) -> T:
        assert self._running is not None
        return self._running.result(PATIENCE)

    def exception(self) -> BaseException | None:
        assert self._running is not None
        return self._running.exception(PATIENCE)


@contextmanager
def meanwhile[T](call: Callable[[], T], *, then: str = "commit") -> Iterator[Meeting[T]]:
    """Inside, a transaction is open; at its end, or at `meet`, the call runs into it; then it is committed (or undone).

    with meanwhile(lambda: cancel(job)) as cancelled:
        complete(job)               # not committed yet
    assert cancelled.result() …     # what the call found once it was
    """
    meeting = Meeting(call)
    with transaction.atomic():
        yield meeting
        meeting.meet()
        transaction.set_rollback(then == "undo")
    meeting.exception()


def _apart[T](call: Callable[[], T]) -> "Future[T]":
    """Call in a thread that nobody joins: one that waits for this transaction must not hold up its end."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            answer = _alone(call)
        except BaseException as error:  # noqa: BLE001 — handed on
            future.set_exception(error)
        else:
            future.set_result(answer)

    Thread(target=run, daemon=True).start()
    return future


def _alone[T](call: Callable[[], T]) -> T:
    try:
        return call()
    finally:
        connections.close_all()
