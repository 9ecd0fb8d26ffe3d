"""What it costs those who enqueue that workers listen: wake-ups must not make commits wait for each other."""

import asyncio
import os
import time
from multiprocessing.pool import AsyncResult
from typing import Any

from django.db import connections

from apps.bench.services.figures import Rounds, told
from apps.bench.services.forks import forks, together
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import TYPE, payload
from apps.jobs import services
from apps.jobs.engine.wake import CHANNEL, PART, hush
from apps.queues.models import Queue
from apps.sql import Line, Statement, listen, open_async, run_alone

CLIENTS, LISTENERS, SECONDS = 64, 16, 30
LOOK_EVERY = 0.05  # seconds

# PostgreSQL's lock of notifications is a lock on an object: the database itself. Those who wake may meet there, for that is
# their work; those who enqueue never. Of looks at which nobody does anything nothing is answered.
_waiting = Statement(
    "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event = 'object') FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    " AND right(application_name, length(%(wakes)s)) <> %(wakes)s AND state <> 'idle' HAVING count(*) > 0",
    int,
)


def listeners(*, rounds: int, seconds: int | None, **_: object) -> dict[str, Any]:
    """Jobs a second that clients, a process each, enqueue one by one while nobody listens, and while workers do."""
    seconds, load, taken = seconds or SECONDS, os.getloadavg(), Rounds()
    most: list[int] = []
    with ground() as here:
        for _round in range(rounds):
            unheard, _looks = _enqueue(here, seconds, listening=0)
            heard, looks = _enqueue(here, seconds, listening=LISTENERS)
            most.append(max(looks))
            taken.add(unheard_per_second=unheard, heard_per_second=heard, ratio=heard / unheard)
        how = {"clients": CLIENTS, "listeners": LISTENERS, "seconds": seconds, "most_waiting_to_notify": most}
        return told(here, taken, unit="jobs/s", load=load, **how)


def _enqueue(here: Ground, seconds: float, *, listening: int) -> tuple[float, list[int]]:
    """How many a second, and how many of them waited for the lock of notifications, look by look."""
    run_alone("VACUUM (ANALYZE) jobs_job_live", lock_timeout="0")
    with forks(CLIENTS) as pool:
        counts = pool.starmap_async(_client, [(here.queue, seconds)] * CLIENTS, chunksize=1)
        looks = asyncio.run(_watch(counts, listening))
        return sum(counts.get()) / seconds, looks


def _client(queue: Queue, seconds: float) -> int:
    connections["default"].ensure_connection()
    together()
    end, made = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        services.submit(queue=queue, type=TYPE, payload=payload())
        made += 1
    hush()
    connections.close_all()
    return made


async def _watch(counts: AsyncResult[list[int]], listening: int) -> list[int]:
    """Listen as workers do until the clients have done; how many clients waited to notify at each look while some worked."""
    looking, *ears = [await open_async() for _ in range(1 + listening)]
    hearing = [asyncio.create_task(_hear(ear)) for ear in ears]
    looks: list[int] = []
    try:
        while not counts.ready():
            looks += await _waiting.on(looking, wakes=PART)
            await asyncio.sleep(LOOK_EVERY)
    finally:
        for one in hearing:
            one.cancel()
        for line in (looking, *ears):
            await line.close()
    return looks


async def _hear(ear: Line) -> None:
    await listen(ear, CHANNEL)
    async for _ in ear.notifies():
        pass
