"""The processes a demo starts, each with its lines in a file of its own, and all ended with it."""

import ctypes
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from apps.demo.services.inbox import place

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1  # linux/prctl.h
PATIENCE = 20.0  # seconds a child has to end by itself
TAIL = 2000  # characters of a dead child's last words


class Died(Exception):
    """A process of the demo ended although nobody told it to."""


@dataclass
class Children:
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> None:
        """Start a Python module or script; Ctrl-C reaches it only through us."""
        with self.log(name).open("wb") as log:
            self.running[name] = subprocess.Popen(  # noqa: S603 - our own interpreter and files
                [sys.executable, *command],
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def log(self, name: str) -> Path:
        return place() / f"{name}.log"

    def check(self) -> None:
        """Raise Died with the last lines of one that ended."""
        for name, child in self.running.items():
            if child.poll() is not None:
                words = self.log(name).read_text(errors="replace")[-TAIL:]
                raise Died(f"The {name} ended with status {child.returncode}.\n{words}")

    def stop(self) -> None:
        """Tell all to end, wait for them, and kill who does not; at a second Ctrl-C, at once."""
        for child in self.running.values():
            child.send_signal(signal.SIGTERM)
        for child in self.running.values():
            try:
                child.wait(PATIENCE)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                child.kill()
                child.wait()
        self.running.clear()


def _end_with_parent() -> None:
    """Ask the kernel (Linux) to end the child when the demo is killed without a chance to do it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def children() -> Iterator[Children]:
    """Processes that end with this block, however it ends: TERM and a closed terminal count as Ctrl-C."""
    them = Children()
    before = {number: signal.signal(number, signal.default_int_handler) for number in ENDINGS}
    try:
        yield them
    finally:
        them.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def free_port(first: int = 8000) -> int:
    """The first port from here on that nobody listens at."""
    for port in range(first, first + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Died(f"Every port from {first} to {first + 99} is taken.")
