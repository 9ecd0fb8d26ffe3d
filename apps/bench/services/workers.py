"""Real processes for a benchmark, workers above all: started, awaited and ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile

from django.conf import settings

from apps.bench.services.ground import PATH, unbroken
from apps.sql import Statement

READY_WITHIN, DONE_WITHIN, ENDED_WITHIN = 60.0, 300.0, 30.0  # seconds
LOOK_EVERY = 0.002

_live = Statement("SELECT count(*) FROM workers_session WHERE ended_at IS NULL AND fenced_at IS NULL", int)


class Stuck(Exception):
    """What the benchmark waits for does not come."""


class Program:
    """A process of ours, with its output kept for the case that it ends by itself."""

    def __init__(self, *command: str, **env: str) -> None:
        self.words = TemporaryFile()  # noqa: SIM115 - closed when the program has ended
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and files
            [sys.executable, *command],
            cwd=settings.BASE_DIR,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=self.words,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def check(self) -> None:
        """Raise Stuck with its last words if it ended by itself."""
        if self.process.poll() is not None:
            self.words.seek(0)
            said = self.words.read().decode(errors="replace")[-2000:]
            raise Stuck(f"{type(self).__name__} ended with status {self.process.returncode}.\n{said}")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(ENDED_WITHIN)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            self.process.kill()
            self.process.wait()
        self.words.close()


class Worker(Program):
    def __init__(self, name: str, *flags: str) -> None:
        super().__init__("manage.py", "runworker", "--queue", PATH, "--name", name, *flags)


@contextmanager
def workers(count: int = 1, *flags: str) -> Iterator[list[Worker]]:
    """So many workers, ended with this block."""
    running: list[Worker] = []
    try:
        with unbroken():
            running += [Worker(f"bench-{number}", *flags) for number in range(count)]
        yield running
    finally:
        for worker in running:
            worker.stop()


def wait(running: Sequence[Program], done: Callable[[], bool], *, within: float = DONE_WITHIN, what: str) -> None:
    """Until `done` says so, while the workers live."""
    until = time.monotonic() + within
    while not done():
        for worker in running:
            worker.check()
        if time.monotonic() > until:
            raise Stuck(f"{what}: not within {within:.0f} s.")
        time.sleep(LOOK_EVERY)


def wait_ready(running: list[Worker]) -> None:
    """Until every one has its session."""
    wait(running, lambda: _live()[0] == len(running), within=READY_WITHIN, what="The workers are not ready")
