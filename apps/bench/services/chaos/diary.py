"""What handlers write down on their own: starts and ends, in a file that no database knows of."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from apps.handlers import Context

PLACE = "CHAOS_DIARY"  # the variable that names the file
BOOT = "CHAOS_BOOT"  # the variable that names the start of the process: "w1.3" is the third of w1
START, END, FAIL, STOPPED = "start", "end", "fail", "stopped"


@dataclass(frozen=True, slots=True)
class Line:
    what: str
    job: str
    fence: int
    generation: int
    type: str
    boot: str
    pid: int
    at: float  # the machine's clock


@contextmanager
def written(ctx: Context) -> Iterator[None]:
    """A start before, and after it how it went."""
    _write(ctx, START)
    try:
        yield
    except Exception:
        _write(ctx, FAIL)
        raise
    except BaseException:  # a task that is cancelled
        _write(ctx, STOPPED)
        raise
    else:
        _write(ctx, END)


def _write(ctx: Context, what: str) -> None:
    boot = os.environ.get(BOOT, "")
    line = Line(what, str(ctx.job_id), ctx.fence, ctx.generation, ctx.type, boot, os.getpid(), time.time())
    os.write(_file(), json.dumps(asdict(line)).encode() + b"\n")  # one write: lines of many processes do not mix


@cache
def _file() -> int:
    return os.open(os.environ[PLACE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


@dataclass
class Diary:
    """Reads along."""

    path: Path
    lines: list[Line] = field(default_factory=list)
    _open: dict[tuple[str, int], Line] = field(default_factory=dict)
    _read: int = 0

    def look(self) -> None:
        """Take in what was written since; a last line that is cut short waits."""
        with self.path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for text in whole.splitlines():
            line = Line(**json.loads(text))
            self.lines.append(line)
            if line.what == START:
                self._open[line.job, line.fence] = line
            else:
                self._open.pop((line.job, line.fence), None)

    def running(self, boot: str) -> list[Line]:
        """What has started in this process and not ended."""
        self.look()
        return [line for line in self._open.values() if line.boot == boot]
