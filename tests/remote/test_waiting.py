"""Claims that wait, in the process that holds them: waked by work, by nothing else, and only as many as there is work for."""

import asyncio
import socket
import time

import httpx
import pytest
import uvicorn
from asgiref.sync import sync_to_async
from django.db import connection

from apps.accounts.models import ApiToken
from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.engine.open_gates import open_gates
from apps.jobs.models import Attempt, Job
from apps.queues.services import queues
from apps.runtime.consumers.bell import bell
from apps.sql import open_own
from apps.workers.models import Session
from tests.jobs.aims import workflow
from tests.jobs.test_reservations import bound
from tests.processes import until
from tests.races.stage import BLOCKED
from tests.remote.serving import Caller


@pytest.fixture
async def client(own_database):
    """Callers of a server in this process, so that a test sees who waits."""
    from config.asgi import application

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(application, lifespan="off", log_level="error"))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        base = f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1/"
        async with httpx.AsyncClient(base_url=base, timeout=40) as client:
            yield client
        bell().close()
        server.should_exit = server.force_exit = True
        await running


@pytest.fixture
async def caller(client, token):
    return await Caller(client, token.text).begin("w1", concurrency=10)


def submit(queue, count=1):
    return [services.submit(queue=queue, type="ping").pk for _ in range(count)]


asubmit = sync_to_async(submit)


async def waiting(*claims):
    """Let these be held open."""
    tasks = [asyncio.create_task(claim) for claim in claims]
    async with asyncio.timeout(20):
        while sum(map(len, bell().waiting.values())) < len(tasks):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return tasks


async def _until(holds):
    async with asyncio.timeout(20):
        while not await holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def _somebody_waits():
    with connection.cursor() as cursor:
        cursor.execute(BLOCKED)
        return cursor.fetchone() != (0,)


async def test_a_claim_waits_for_work_and_has_it_at_once(caller, queue, settings):
    settings.POLL_INTERVAL = 3600.0  # no look that no wake-up asks for
    [task] = await waiting(caller.claim())
    [job_id] = await asubmit(queue)
    answer = await asyncio.wait_for(task, 10)
    assert [job["job"] for job in answer.json()["jobs"]] == [str(job_id)]
    assert (await caller.report(*answer.json()["jobs"])).json() == {"fenced": []}


async def test_work_that_is_there_is_not_waited_for_and_no_work_is_no_longer_than_asked(caller, queue):
    began = time.monotonic()
    assert (await caller.claim(1)).json()["jobs"] == []
    assert 0.9 < time.monotonic() - began < 5
    await asubmit(queue)
    assert len((await caller.claim()).json()["jobs"]) == 1


async def test_one_job_wakes_one_and_as_many_jobs_as_there_are_wake_all(client, token, queue):
    callers = [await Caller(client, token.text).begin(f"w{n}") for n in range(8)]
    tasks = await waiting(*(caller.claim() for caller in callers))
    await asubmit(queue)
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    _, left = await asyncio.wait(tasks, timeout=0.5)
    assert len(left) == 7
    await asubmit(queue, 7)
    answers = await asyncio.gather(*tasks)
    assert len({answer.json()["jobs"][0]["job"] for answer in answers}) == 8


@pytest.mark.parametrize("poll_only", [True, False])
async def test_a_job_for_one_of_many_kin_is_with_it_within_a_look(client, token, queue, settings, poll_only):
    settings.POLL_ONLY = poll_only
    callers = [await Caller(client, token.text).begin(f"w{n}") for n in range(4)]
    tasks = await waiting(*(caller.claim() for caller in callers))
    job = await sync_to_async(services.submit)(queue=queue, type="ping", required_worker="w2")
    answer = await asyncio.wait_for(tasks[2], 5)
    assert [one["job"] for one in answer.json()["jobs"]] == [str(job.pk)]
    assert [task.done() for task in tasks] == [False, False, True, False]


async def test_a_job_for_whoever_comes_first_is_looked_for_too(client, token, queue, settings):
    settings.POLL_ONLY = True
    caller = await Caller(client, token.text).begin("w1")
    [task] = await waiting(caller.claim())
    job = await sync_to_async(services.submit)(queue=queue, type="ping", placement="job")
    answer = await asyncio.wait_for(task, 5)
    assert [one["job"] for one in answer.json()["jobs"]] == [str(job.pk)]


async def test_nobody_claims_for_a_caller_that_has_hung_up(client, token, queue):
    gone, here = [await Caller(client, token.text).begin(uid) for uid in ("gone", "here")]
    [task] = await waiting(gone.claim())
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    [job_id] = await asubmit(queue)
    assert [job["job"] for job in (await here.claim()).json()["jobs"]] == [str(job_id)]


async def test_jobs_of_a_claim_that_nobody_hears_of_go_back(caller, queue):
    [job_id] = await asubmit(queue)
    with open_own() as other, other.transaction():
        other.execute(
            "SELECT pg_advisory_xact_lock(hashtext('fencepost claim'), hashtext(%s::uuid::text))", [caller.session]
        )
        task = asyncio.create_task(caller.claim())
        await _until(sync_to_async(_somebody_waits))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0.2)  # the server reads that the caller has gone
    released = Attempt.objects.filter(job_id=job_id, outcome="released")
    await _until(released.aexists)
    job = await Job.objects.aget(pk=job_id)
    assert (job.state, job.attempt) == ("queued", 0)


async def test_a_token_that_is_revoked_while_it_waits_gets_nothing(caller, token, queue):
    [task] = await waiting(caller.claim())
    await ApiToken.objects.filter(pk=token.pk).aupdate(revoked_at=token.created_at)
    [job_id] = await asubmit(queue)
    assert (await task).status_code == 401
    assert (await Job.objects.aget(pk=job_id)).state == "queued"


async def test_a_full_worker_does_not_keep_others_from_work(client, token, queue):
    full, free = [await Caller(client, token.text).begin(uid) for uid in ("full", "free")]
    await asubmit(queue)
    [held] = (await full.claim()).json()["jobs"]
    tasks = await waiting(full.claim(), free.claim())
    await asubmit(queue)
    assert len((await tasks[1]).json()["jobs"]) == 1
    await full.report(held)
    await asubmit(queue)
    assert len((await tasks[0]).json()["jobs"]) == 1


async def test_a_reserved_worker_does_not_keep_others_from_open_work(client, token, queue, settings):
    """It takes nothing of the open line, and so is no kin of those who do: to be waked in their place would be in vain."""
    settings.POLL_INTERVAL = 3600.0
    reserved, free = [await Caller(client, token.text).begin(uid, concurrency=2) for uid in ("reserved", "free")]
    flow, _ = await sync_to_async(workflow)(queue, jobs=1)
    await sync_to_async(bound)(flow, await Session.objects.select_related("worker").aget(worker__uid="reserved"))
    assert len((await reserved.claim()).json()["jobs"]) == 1  # its own; it has room for another
    tasks = await waiting(reserved.claim(), free.claim())
    assert len(bell().waiting) == 2
    [job] = await asubmit(queue)
    answer = await asyncio.wait_for(tasks[1], 10)
    assert [one["job"] for one in answer.json()["jobs"]] == [str(job)]


async def test_a_rate_lets_the_next_go_when_its_token_comes(caller, queue, settings):
    settings.POLL_INTERVAL = 3600.0
    await sync_to_async(_limit)(queue)
    await asubmit(queue, 2)
    assert len((await caller.claim()).json()["jobs"]) == 1
    assert len((await asyncio.wait_for(caller.claim(), 15)).json()["jobs"]) == 1


def _limit(queue):
    queues.update(queue=queue, actor=SYSTEM, rate_per_second=1.5, burst=1)
    until(lambda: open_gates() is None, within=10)


async def test_full_workers_do_not_wake_each_other_for_ever(client, token, queue, monkeypatch):
    callers = [await Caller(client, token.text).begin(uid) for uid in ("a", "b")]
    await asubmit(queue, 2)
    for caller in callers:
        assert len((await caller.claim()).json()["jobs"]) == 1
    tasks = await waiting(*(caller.claim(1.5) for caller in callers))
    asked: list[None] = []
    hear_of = bell().hear_of
    monkeypatch.setattr(bell(), "hear_of", lambda wish: asked.append(hear_of(wish)))
    await asubmit(queue)
    await asyncio.gather(*tasks)
    assert len(asked) <= 4  # a look or two, by each
