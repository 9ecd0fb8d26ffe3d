"""Everything a fault may touch: the server, the proxy before it, the processes, the customers, the diary."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from apps.bench.services.chaos.crew import SCHEDULER, WEB, WORKER, Crew, Member
from apps.bench.services.chaos.customers import Shop
from apps.bench.services.chaos.diary import PLACE, Diary
from apps.bench.services.chaos.proxy import Proxy
from apps.bench.services.chaos.server import Server
from apps.bench.services.chaos.truth import Strike
from apps.bench.services.ground import PATH
from apps.bench.services.workers import Stuck

LOOK_EVERY = 0.05  # seconds
BUSY_WITHIN = 3.0  # seconds to find a worker with something to lose
LONG = 0.5  # seconds a fault must be held to have another strike in its middle
GRACE = 2.0  # seconds a worker that is told to stop leaves its jobs


@dataclass
class Stage:
    folder: Path  # logs, diary, history
    url: str  # the database, through the proxy
    lease: float
    processes: tuple[int, ...]  # of each worker
    server: Server
    proxy: Proxy
    crew: Crew
    shop: Shop
    diary: Diary
    strikes: list[Strike] = field(default_factory=list)
    aside: list[Callable[[], None]] = field(default_factory=list)

    # --- time ---

    def hold(self, seconds: float) -> None:
        """Let time pass, and start again who ended. What waits aside strikes in the middle."""
        self.until(lambda: False, within=seconds / 2)
        if self.aside and seconds > LONG:
            self.aside.pop()()
        self.until(lambda: False, within=seconds / 2)

    def until(self, holds: Callable[[], bool], *, within: float) -> bool:
        end = time.monotonic() + within
        while not holds():
            if time.monotonic() >= end:
                return False
            self.crew.tend()
            time.sleep(LOOK_EVERY)
        return True

    def need(self, holds: Callable[[], bool], *, within: float, what: str) -> None:
        if not self.until(holds, within=within):
            raise Stuck(f"{what}: not within {within:.0f} s.")

    def strike(self, fault: str, began: float, boot: str | None) -> None:
        self.strikes.append(Strike(fault, began, time.time(), boot))

    # --- processes ---

    def open(self) -> None:
        """Start the processes a site has."""
        for number, processes in enumerate(self.processes, 1):
            self.add(self.worker(f"w{number}", processes))
        for number in (1, 2):
            self.add(self.member(SCHEDULER, f"s{number}", "manage.py", "runscheduler"))
        port = self.shop.address.rpartition(":")[2]
        web = ("-m", "granian", "--interface", "wsgi", "config.wsgi:application", "--host", "127.0.0.1", "--port", port)
        self.add(self.member(WEB, "web", *web, "--workers", "1", "--no-ws"))

    def add(self, member: Member) -> Member:
        self.crew.adopt(member)
        member.start()
        return member

    def worker(self, name: str, processes: int) -> Member:
        return self.member(
            WORKER, name, "manage.py", "runworker", "--queue", PATH, "--name", name, "--concurrency", "8",
            "--processes", str(processes), "--lease", str(self.lease), "--poll-interval", "0.5",
            "--grace", str(GRACE), "--no-scheduler",
        )  # fmt: skip

    def member(self, kind: str, name: str, *command: str) -> Member:
        more = {
            "DATABASE_URL": self.url,
            "LEASE_SECONDS": str(self.lease),
            "HEARTBEAT_SECONDS": str(self.lease / 3),
            "LOG_LEVEL": "INFO",
            "LOG_FORMAT": "json",
            PLACE: str(self.diary.path),
        }
        return Member(kind, name, command, self.folder / f"{name}.log", {**os.environ, **more})

    def busy(self, dice: Random) -> Member:
        """A worker that runs something, if one does soon."""
        workers = [member for member in self.crew.of(WORKER) if member.lives]
        dice.shuffle(workers)
        self.until(lambda: any(self.diary.running(one.boot) for one in workers), within=BUSY_WITHIN)
        return max(workers or self.crew.of(WORKER), key=lambda one: bool(self.diary.running(one.boot)))
