"""Two hundred workers wait in one process: what that costs while nothing comes, and how soon they have what does."""

import asyncio
import os
import statistics
import time

import httpx
import pytest
from asgiref.sync import sync_to_async

from apps.jobs import services
from tests.remote.serving import Caller, connections, serving

pytestmark = pytest.mark.chaos

SHORT = os.environ.get("SHORT") == "1"
MANY = 40 if SHORT else 200
JOBS = 40 if SHORT else 150
IDLE = 3.0 if SHORT else 8.0  # seconds
PAUSE = 0.1  # seconds between two jobs
POOL, EAR_AND_LOOK = 10, 2  # connections


@pytest.fixture
def server(own_database, tmp_path):
    with serving(own_database, tmp_path) as server:
        yield server


@pytest.fixture
async def client(server):
    limits = httpx.Limits(max_connections=MANY + 50, max_keepalive_connections=MANY + 50)
    async with httpx.AsyncClient(base_url=f"{server.url}/", timeout=60, limits=limits) as client:
        yield client


class Work:
    """When each job was submitted and when somebody had it."""

    def __init__(self):
        self.submitted: dict[str, float] = {}
        self.taken: dict[str, float] = {}

    async def loop(self, caller):
        while True:
            answer = await caller.claim(30)
            now = time.monotonic()
            jobs = answer.json()["jobs"]
            assert not self.taken.keys() & {job["job"] for job in jobs}
            self.taken |= {job["job"]: now for job in jobs}
            if jobs:
                assert (await caller.report(*jobs)).json() == {"fenced": []}

    async def submit(self, queue, count, pause):
        submit = sync_to_async(services.submit)
        for _ in range(count):
            job = await submit(queue=queue, type="ping")
            self.submitted[str(job.pk)] = time.monotonic()
            await asyncio.sleep(pause)

    @property
    def waits(self):
        return sorted(self.taken[job] - at for job, at in self.submitted.items())


async def begun(client, token):
    gate = asyncio.Semaphore(10)

    async def one(number):
        async with gate:
            return await Caller(client, token.text).begin(f"w{number}", lease_seconds=600)

    return await asyncio.gather(*(one(number) for number in range(MANY)))


async def all_taken(work, count):
    async with asyncio.timeout(60):
        while len(work.taken) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def idle_share(server):
    """How much of a processor the server takes while nothing comes."""
    await asyncio.sleep(8)  # the first look of each
    before, began = server.seconds, time.monotonic()
    await asyncio.sleep(IDLE)
    return (server.seconds - before) / (time.monotonic() - began)


async def burst(work, queue):
    """How long it takes to hand out as many jobs at once as there are workers."""
    began, before = time.monotonic(), len(work.taken)
    await sync_to_async(services.submit_batch)(queue=queue, jobs=[{"type": "ping"}] * MANY)
    await all_taken(work, before + MANY)
    return time.monotonic() - began


async def test_two_hundred_wait_for_next_to_nothing_and_have_each_job_at_once(client, server, token, queue):
    work = Work()
    loops = [asyncio.create_task(work.loop(caller)) for caller in await begun(client, token)]
    idle = await idle_share(server)
    held, threads = await sync_to_async(connections)(), server.threads
    await work.submit(queue, JOBS, PAUSE)
    await all_taken(work, JOBS)
    p50, p95 = statistics.median(work.waits), work.waits[int(len(work.waits) * 0.95)]
    took = await burst(work, queue)
    for task in loops:
        task.cancel()
    await asyncio.gather(*loops, return_exceptions=True)
    told = {
        "workers": MANY, "idle_share": round(idle, 3), "connections": held, "threads": threads,
        "p50_ms": round(p50 * 1000), "p95_ms": round(p95 * 1000), "burst_seconds": round(took, 2), "load": os.getloadavg()[0],
    }  # fmt: skip
    print(told)  # noqa: T201
    assert held <= POOL + EAR_AND_LOOK
    assert threads < 60
    assert idle < 0.1, told
    assert p95 < 1, told
    assert took < 30, told


async def test_a_server_that_is_told_to_end_lets_its_claims_go(own_database, token, tmp_path):
    with serving(own_database, tmp_path) as server:
        async with httpx.AsyncClient(base_url=f"{server.url}/", timeout=40) as client:
            caller = await Caller(client, token.text).begin("w1")
            task = asyncio.create_task(caller.claim())
            await asyncio.wait({task}, timeout=1)
            took = await sync_to_async(server.stop)()
            assert (await task).json() == {"jobs": [], "drain": False}
            assert took < 5
