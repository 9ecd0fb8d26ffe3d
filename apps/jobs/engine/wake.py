"""Wake-ups: sent after commit, coalesced per process, so that commits never queue on the notify lock.

A NOTIFY inside the enqueuing transaction would make all commits of the database take turns. So a
thread of each process, started by its first wake-up, sends one notification for all queues named
since the last one. It is only a hint: workers poll as well.
"""

import atexit
import os
import threading
import time
from uuid import UUID

import psycopg
import structlog

from apps.sql import Statement, after_commit, open_own

CHANNEL = "fencepost_jobs"
PROMOTER = "fencepost_due"
SOON = 2.0  # seconds: what is due later is found by a promoter that nobody woke
PART = "wake"  # of the name under which its connection is known to the server
PAUSE = 0.004  # seconds between two notifications of one process
QUEUES_MAX = 200  # named in one payload (8,000 bytes); more than that wakes everybody: ""

log = structlog.get_logger(__name__)

wake_statement = Statement.beside(__file__, lambda *nothing: None)
wake_promoter_statement = Statement.beside(__file__, lambda *nothing: None, "wake_promoter")


class _Notifier:
    """One thread with one connection that sends what was asked for since it last looked."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.asked: set[UUID | None] = set()  # None: the promoter
        self.ready = threading.Condition()
        self.ending = False
        self.thread = threading.Thread(target=self._run, name="wake", daemon=True)
        self.thread.start()
        atexit.register(self.close)

    def ask(self, queue_id: UUID | None) -> None:
        with self.ready:
            self.asked.add(queue_id)
            self.ready.notify()

    def close(self) -> None:
        """Send what is left, for a command that ends right after it enqueued."""
        with self.ready:
            self.ending = True
            self.ready.notify()
        if self.pid == os.getpid():
            self.thread.join(timeout=1)

    def _run(self) -> None:
        connection: psycopg.Connection[tuple[object, ...]] | None = None
        while True:
            with self.ready:
                while not self.asked and not self.ending:
                    self.ready.wait()
                queues, self.asked = self.asked, set()
            if not queues:
                if connection is not None:
                    connection.close()
                return
            try:
                connection = connection if connection and not connection.closed else open_own(PART)
                _send(connection, queues)
            except psycopg.Error as error:
                connection = None
                log.warning("wake-up not sent; workers poll", error=str(error))
            time.sleep(PAUSE)


def _send(connection: psycopg.Connection[tuple[object, ...]], asked: set[UUID | None]) -> None:
    queues = {queue_id for queue_id in asked if queue_id is not None}
    if queues:
        wake_statement.through(connection, queues=payload(queues))
    if None in asked:
        wake_promoter_statement.through(connection)


def payload(queues: set[UUID]) -> str:
    """What a notification says: the queues, or nothing when they are too many to name."""
    return ",".join(map(str, queues)) if len(queues) <= QUEUES_MAX else ""


_notifier: _Notifier | None = None
_making = threading.Lock()


def wake_queue(queue_id: UUID) -> None:
    """Wake the workers of a queue once the transaction now open on Django's connection commits."""
    after_commit(lambda: _current().ask(queue_id))


def wake_promoter() -> None:
    """Have a job promoted in time that is due before the promoter would look: once the transaction now open commits."""
    after_commit(lambda: _current().ask(None))


def _current() -> _Notifier:
    """The notifier of this process; one inherited through a fork has no thread and is replaced."""
    global _notifier
    with _making:
        if _notifier is None or _notifier.pid != os.getpid():
            _notifier = _Notifier()
        return _notifier


def hush() -> None:
    """Send what is left and end this process's notifier; the next wake-up starts another."""
    global _notifier
    with _making:
        if _notifier is not None:
            _notifier.close()
            _notifier = None
