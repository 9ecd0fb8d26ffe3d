"""Real processes: workers that tests start, signal, kill and wait for."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection

from apps.jobs.selectors import find
from apps.jobs.states import FINAL
from tests.databases import Database

EFFECTS = """
CREATE TABLE IF NOT EXISTS effects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job uuid, attempt int, pid int,
    started_at timestamptz DEFAULT clock_timestamp(), ended_at timestamptz
)
"""


class Process:
    """A manage.py command of the test's, with its output in a file."""

    def __init__(self, *args: str, database: Database, log: Path, prefix: Sequence[str] = (), **env: str) -> None:
        self.log = log
        self.command = [*prefix, sys.executable, "manage.py", *args]
        self.env = {
            **os.environ,
            "DATABASE_URL": database.url,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "LOG_FORMAT": "console",
            "NO_COLOR": "1",
            **env,
        }
        with log.open("ab") as output:
            self.popen = subprocess.Popen(
                self.command,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self.log.read_text()

    def says(self, text: str, *, within: float = 20) -> None:
        """Wait for a line of its log."""
        until(lambda: text in self.output or self.popen.poll() is not None, within=within, what=lambda: self.output)
        assert text in self.output, self.output

    def send(self, number: int) -> None:
        self.popen.send_signal(number)

    def wait(self, *, within: float = 20) -> int:
        try:
            return self.popen.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running:\n{self.output}") from None

    def kill(self) -> None:
        """The whole process group, as the kernel would."""
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait(10)


@contextmanager
def worker(database: Database, folder: Path, *flags: str, name: str = "w1", **env: str) -> Iterator[Process]:
    """A runworker that has registered; killed at the end if it still runs."""
    with connection.cursor() as cursor:
        cursor.execute(EFFECTS)
    process = Process(
        "runworker", "--name", name, *flags, database=database, log=folder / f"{name}-{time.monotonic_ns()}.log", **env
    )
    try:
        process.says("worker started")
        yield process
    finally:
        process.kill()


def until(holds: Callable[[], Any], *, within: float = 20, what: Callable[[], object] = lambda: "") -> None:
    """Look until it holds. The bound is for a machine that is busy, not for the product."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"not within {within} s\n{what()}"
        time.sleep(0.02)


def final(*ids: UUID, within: float = 20) -> list[Any]:
    """Wait until all these jobs have ended; answers them."""
    until(
        lambda: all(find(one).state in FINAL for one in ids), within=within, what=lambda: [find(i).state for i in ids]
    )
    return [find(one) for one in ids]


def effects(job_id: UUID | None = None) -> list[tuple[int, int, bool]]:
    """What handlers wrote, in order: attempt, process, whether it came to its end."""
    with connection.cursor() as cursor:
        where = "WHERE job = %s" if job_id else ""
        cursor.execute(
            f"SELECT attempt, pid, ended_at IS NOT NULL FROM effects {where} ORDER BY id", [job_id] if job_id else []
        )
        return [(attempt, pid, ended) for attempt, pid, ended in cursor.fetchall()]
