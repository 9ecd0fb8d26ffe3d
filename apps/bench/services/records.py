"""What the jobs of a benchmark leave behind: a line each in a file, so that counting them asks nobody."""

import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PLACE = "BENCH_RECORDS"  # the variable that names the file
TYPE = "bench.stamp"
_LINE = struct.Struct("<ddQ")


@dataclass(frozen=True, slots=True)
class Line:
    """When a job started, what time its payload carried, and in which process it ran."""

    started: float
    given: float
    pid: int


def stamp(given: float) -> bytes:
    return _LINE.pack(time.time(), given, os.getpid())


def payload() -> dict[str, Any]:
    """About 100 bytes of JSON."""
    return {"t": time.time(), "pad": "x" * 70}


@dataclass(frozen=True, slots=True)
class Records:
    path: Path

    def forget(self) -> None:
        """Empty the file in place: workers keep it open."""
        os.truncate(self.path, 0)

    def count(self) -> int:
        return self.path.stat().st_size // _LINE.size

    def read(self) -> list[Line]:
        return [Line(*values) for values in _LINE.iter_unpack(self.path.read_bytes())]


@contextmanager
def records() -> Iterator[Records]:
    """A file for this benchmark, named in the environment of the processes it starts."""
    with TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "records"
        path.touch()
        os.environ[PLACE] = str(path)
        try:
            yield Records(path)
        finally:
            del os.environ[PLACE]
