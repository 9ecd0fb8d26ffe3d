"""The processes of the run: started, killed, and started again by whoever tends them."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from apps.bench.services.chaos import diary
from apps.bench.services.ground import unbroken

PR_SET_PDEATHSIG = 1  # linux/prctl.h
AWAY = 0.3  # seconds before who ended is started again
ENDED_WITHIN = 10.0
WORKER, SCHEDULER, WEB = "worker", "scheduler", "web"

_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None  # looked up before there are threads


def with_us(number: signal.Signals) -> Callable[[], None]:
    """What a child does first: ask the kernel (Linux) for this signal when our main thread ends."""

    def ask() -> None:
        if _prctl is not None:
            _prctl(PR_SET_PDEATHSIG, number)

    return ask


@dataclass
class Member:
    kind: str
    name: str
    command: tuple[str, ...]
    log: Path
    env: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    boots: int = 0
    back_at: float = 0.0

    @property
    def boot(self) -> str:
        return f"{self.name}.{self.boots}"

    @property
    def lives(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start a new boot. Only the main thread may: the child is bound to the thread that made it."""
        self.boots += 1
        with self.log.open("ab") as log, unbroken():
            log.write(f"--- boot {self.boot}\n".encode())
            log.flush()
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and files
                [sys.executable, *self.command], cwd=settings.BASE_DIR, env=self.env | {diary.BOOT: self.boot},
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=with_us(signal.SIGTERM),
            )  # fmt: skip

    def send(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def kill(self) -> None:
        """Kill it and whatever it leads."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def said(self, text: str) -> bool:
        """Has this boot written so?"""
        return text in self.log.read_text(errors="replace").rpartition(f"--- boot {self.boot}\n")[2]


@dataclass
class Crew:
    members: list[Member] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)  # "worker 3": how often one ended with status 3

    def of(self, kind: str) -> list[Member]:
        return [member for member in self.members if member.kind == kind]

    def tend(self) -> None:
        """Start again who has ended."""
        for member in self.members:
            if member.process is not None and not member.lives:
                self.ends[f"{member.kind} {member.process.returncode}"] += 1
                member.process, member.back_at = None, time.monotonic() + AWAY
            if member.process is None and time.monotonic() >= member.back_at:
                member.start()

    def adopt(self, member: Member) -> None:
        with unbroken():
            self.members.append(member)

    def replace(self, old: Member, new: Member) -> None:
        """Start another in one's place, and leave the old one to its fate."""
        with unbroken():
            new.start()
            self.members[self.members.index(old)] = new

    def dismiss(self, member: Member) -> None:
        """End one for good."""
        member.kill()
        self.members.remove(member)

    def end(self) -> None:
        """Kill them all, the frozen too."""
        for member in self.members:
            member.kill()


@contextmanager
def crew() -> Iterator[Crew]:
    """Processes that end with this block."""
    them = Crew()
    try:
        yield them
    finally:
        them.end()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
