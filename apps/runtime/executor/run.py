"""One attempt on its way: what it is, whether it is to stop, and what was said meanwhile."""

import re
import time
from asyncio import TimerHandle
from collections.abc import Callable
from enum import Enum
from typing import Protocol

from apps.handlers import Handler
from apps.jobs.engine.claim import Claim
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.engine.heartbeat import Told
from apps.jobs.engine.log import Line
from apps.jobs.engine.report import Ended

# What PostgreSQL cannot hold is shown, not dropped: U+FFFD stands in its place.
_BAD = re.compile("[\x00\ud800-\udfff]")
LINES_MAX = 1000  # log lines kept of one attempt
LINE_MAX = 8192  # characters of one line
TEXT_MAX = 262_144  # … and of all lines of an attempt


def clean(text: str) -> str:
    """Make a text storable."""
    return _BAD.sub("\ufffd", text)


class Stop(Enum):
    """Why an attempt is to stop before its handler is done."""

    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    LOST = "lost"  # the fence moved on: nothing it reports would count
    RELEASED = "released"  # the worker drains


class Run:
    """An attempt between claim and report. Written by its handler's thread, read by the supervisor's."""

    __slots__ = (
        "began",
        "child",
        "claim",
        "done",
        "follow",
        "followed",
        "handler",
        "last_told",
        "lines",
        "numbered",
        "pool",
        "queue",
        "said",
        "serial",
        "stop",
        "task",
        "timer",
        "told",
        "took",
        "unsaid",
    )

    def __init__(self, claim: Claim, handler: Handler, queue: str) -> None:
        self.claim = claim
        self.began = time.monotonic()
        self.done = False  # its handler has ended; it may not be reported yet
        self.timer: TimerHandle | None = None  # for its time limit
        self.took = 0.0  # seconds, once it has ended
        self.handler = handler
        self.queue = queue  # "org/project/queue"
        self.stop: Stop | None = None
        self.told: Told | None = None  # what no heartbeat has passed on
        self.last_told: Told | None = None
        self.lines: list[Line] = []
        self.follow: list[NewJob] = []  # enqueued with its success
        self.followed = 0  # characters of their payloads
        self.numbered = 0
        self.said = 0  # characters
        self.unsaid: dict[str, str] | None = None  # level → printed, but its line has no end yet
        self.task: object | None = None
        self.pool: object | None = None  # whose slot it has
        self.child: object | None = None  # the process it runs in, and its number there
        self.serial = 0

    def say(self, message: str, level: str) -> None:
        """Keep a line; the first one over a limit says that the rest is missing."""
        if self.said > TEXT_MAX or self.numbered > LINES_MAX:
            return
        if len(message) > LINE_MAX:
            message = f"{message[:LINE_MAX]}… [{len(message) - LINE_MAX} characters cut]"
        message = clean(message)
        self.numbered += 1
        self.said += len(message)
        if self.said > TEXT_MAX or self.numbered > LINES_MAX:
            message, level = f"More than {LINES_MAX} lines or {TEXT_MAX} characters: the rest is not kept.", "warning"
        self.keep(message, level)

    def keep(self, message: str, level: str) -> None:
        """Put a line where it is sent from."""
        claim = self.claim
        self.lines.append(Line(claim.job_id, claim.fence, claim.attempt, self.numbered, level, message))

    def hear(self, text: str, level: str) -> None:
        """Take what was printed: whole lines are kept, the rest waits for its end."""
        if self.unsaid is None:
            self.unsaid = {}
        *lines, rest = (self.unsaid.get(level, "") + text).split("\n")
        self.unsaid[level] = rest[: LINE_MAX * 2]
        for line in lines:
            if line.strip():
                self.say(line, level)

    def hush(self) -> None:
        """Keep what was printed without an end of line."""
        for level in list(self.unsaid or ()):
            self.hear("\n", level)

    def tell(self, told: Told) -> None:
        self.told = self.last_told = told

    def take_lines(self) -> list[Line]:
        lines, self.lines = self.lines, []
        return lines


type OnEnd = Callable[[Run, Ended | None], None]


class Executor(Protocol):
    """Runs handlers and says once for each run how it ended; None when nothing is to be reported."""

    def start(self, run: Run) -> None:
        """Begin. `on_end` may be called before this returns."""

    def stop(self, run: Run, why: Stop) -> None:
        """Ask a run to stop: asynchronous handlers are cancelled, others see `ctx.cancelled`."""

    def abandon(self, run: Run) -> None:
        """Stop waiting for a run whose handler does not stop; its outcome is what `stop` said."""

    @property
    def ready(self) -> bool:
        """Whether it takes runs at all."""

    @property
    def stuck(self) -> int:
        """Slots whose handler was abandoned and still runs."""

    def close(self) -> None:
        """Let go of threads and tasks."""
