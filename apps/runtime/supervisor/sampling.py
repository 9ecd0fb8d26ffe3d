"""How the machine does: processor, memory and disk, measured beside the heartbeat and never in its way."""

import asyncio
import contextlib
import json
import math
import os
import time
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import structlog
from django.conf import settings

PATIENCE = 0.2  # seconds a heartbeat waits for its sample
SPREAD = 0.9  # of the interval: a beat that comes a little early has its sample too

log = structlog.get_logger("fencepost.worker")


class Sampling:
    """A thread of its own for each sample: a disk that does not answer must cost no heartbeat."""

    def __init__(self, *, every: float) -> None:
        self.every = every
        self.taken_at = -math.inf
        self.running: asyncio.Future[str | None] | None = None
        psutil.cpu_percent()  # the next call says how busy it was since this one

    async def take(self) -> str | None:
        """A new sample as a JSON text; None where the last one is recent, or this one does not come in time."""
        if time.monotonic() - self.taken_at < self.every * SPREAD:
            return None
        if self.running is None or self.running.done():
            self.running = _aside()
        done, _ = await asyncio.wait({self.running}, timeout=PATIENCE)
        if not done or (sample := self.running.result()) is None:
            return None
        self.taken_at = time.monotonic()
        return sample


def measure() -> dict[str, Any]:
    """Percent and bytes. `rss` is of the worker and its executors together."""
    memory = psutil.virtual_memory()
    disk = psutil.disk_usage(str(_existing(Path(settings.RESULTS_DIR))))
    return {
        "processor": {
            "percent": psutil.cpu_percent(),
            "load": [round(load, 2) for load in os.getloadavg()],
            "cores": os.process_cpu_count() or 1,
        },
        "memory": {"total": memory.total, "available": memory.available, "rss": _rss()},
        "disk": {"total": disk.total, "free": disk.free},
    }


def _rss() -> int:
    """Resident bytes of this process and its descendants; pages they share are counted for each."""
    me = psutil.Process()
    total = 0
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            total += process.memory_info().rss
    return total


def _existing(path: Path) -> Path:
    """The folder, or the nearest one above it that exists: nothing may have been saved yet."""
    return next((one for one in (path, *path.parents) if one.is_dir()), Path("/"))


def _aside() -> asyncio.Future[str | None]:
    """Measure in a thread that nobody joins."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()

    def run() -> None:
        sample = None
        try:
            sample = json.dumps(measure())
        except (psutil.Error, OSError) as error:
            log.warning("machine not measured", error=str(error))
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(answer.set_result, sample)

    Thread(target=run, name="sample", daemon=True).start()
    return answer
