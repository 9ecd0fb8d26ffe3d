"""What is committed reaches the sockets that follow it: each number once, in order, without a hole."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Flag

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import override_settings
from django.utils import timezone

from apps.audit.models import Event, Head
from apps.audit.tail import live
from apps.jobs.engine.heartbeat import Told
from apps.jobs.engine.last_word import last_word
from apps.jobs.models import Progress
from apps.jobs.selectors import find
from tests.acts import enqueue, finish, take_one
from tests.events.conftest import atell, tell
from tests.factories import ProjectFactory

pytestmark = pytest.mark.usefixtures("own_database")


async def test_a_fact_reaches_an_open_socket(listening, project):
    [job] = await atell(project)
    frame = await listening.frame()
    assert (frame["v"], frame["seq"], frame["prev_seq"]) == (1, 1, 0)
    assert (frame["job_id"], frame["project_id"]) == (str(job), str(project.pk))
    assert (frame["kind"], frame["state"]) == ("job.started", "running")


async def test_a_packed_event_is_one_frame_per_job(listening, project):
    jobs = await atell(project, jobs=3)
    frames = await listening.frames(3)
    assert [frame["job_id"] for frame in frames] == list(map(str, jobs))
    assert [frame["seq"] for frame in frames] == [1, 2, 3]


async def test_a_cursor_takes_up_in_the_middle_of_a_packed_event(reader, token, project):
    jobs = await atell(project, jobs=5)
    socket = reader(token, query="after=3")
    await socket.connect()
    hello, *frames = await socket.frames(3)
    assert (hello["head"], hello["after"], hello["oldest"]) == (5, 3, 1)
    assert [frame["job_id"] for frame in frames] == list(map(str, jobs[3:]))
    assert frames[0]["prev_seq"] == 3
    await socket.disconnect()


async def test_without_a_cursor_it_begins_now(reader, token, project):
    await atell(project, jobs=5)
    socket = reader(token)
    await socket.connect()
    await socket.frame()
    await atell(project)
    assert (await socket.frame())["seq"] == 6
    await socket.disconnect()


async def test_no_number_is_missed_or_doubled_while_the_log_grows(reader, token, project, monkeypatch):
    """Sockets open at any moment: what comes from the log and what comes live must meet exactly."""
    monkeypatch.setattr(live, "MEMORY", 30)
    monkeypatch.setattr(live, "PAGE", 11)
    stop = Flag()

    def write():
        while not stop.is_set():
            tell(project, jobs=7)
        connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        sockets = [reader(token, query="after=0") for _ in range(5)]
        for socket in sockets:
            await socket.connect(timeout=10)
            await socket.frame()
            await socket.frames(20)
        stop.set()
        await asyncio.wrap_future(writing)
    last = 2 + max([event.last_seq async for event in Event.objects.all()])
    await atell(project, jobs=2)
    for socket in sockets:
        assert [frame["seq"] for frame in await socket.frames(last - 20)] == list(range(21, last + 1))
        await socket.disconnect()


async def test_a_reader_that_fell_behind_the_memory_reads_the_log(reader, token, project, monkeypatch):
    monkeypatch.setattr(live, "MEMORY", 5)
    monkeypatch.setattr(live, "PAGE", 3)
    socket = reader(token)
    await socket.connect()
    await socket.frame()
    await atell(project, jobs=40)
    assert [frame["seq"] for frame in await socket.frames(40)] == list(range(1, 41))
    await socket.disconnect()


async def test_another_projects_facts_do_not_reach_it(listening, project):
    other = await sync_to_async(ProjectFactory.create)()
    await atell(other, jobs=100)
    [mine] = await atell(project)
    assert (await listening.frame())["job_id"] == str(mine)


async def test_a_lost_notification_costs_a_poll(reader, token, project):
    with override_settings(POLL_ONLY=True):
        socket = reader(token)
        await socket.connect()
        await socket.frame()
        await atell(project)
        assert (await socket.frame())["seq"] == 1
        await socket.disconnect()


async def test_it_survives_the_loss_of_its_connections(own_database, listening, project):
    with own_database.connect(autocommit=True) as admin:
        killed = admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND query ~ '(LISTEN|audit_head)'"
        ).fetchall()
    assert killed
    await sync_to_async(connections.close_all)()
    await atell(project)
    assert (await listening.frame())["seq"] == 1


async def test_a_history_that_was_lost_sends_readers_back_to_the_start(listening, project):
    """As after a failover to a copy that lagged: numbers that were told are given out again."""
    await atell(project, jobs=5)
    await listening.frames(5)
    await Event.objects.all().adelete()
    await Head.objects.aupdate(seq=2)
    frame = await listening.frame()
    assert (frame["kind"], frame["code"]) == ("error", "cursor_ahead")
    assert await listening.code() == 4409


async def test_a_jobs_life_is_seen_as_it_happens(listening, queue, session):
    def live_one():
        from apps.audit.relay import relay

        enqueue(queue)
        finish(session, take_one(session, queue))
        relay()

    await sync_to_async(live_one)()
    frames = await listening.frames(3)
    assert [frame["kind"] for frame in frames] == ["job.enqueued", "job.started", "job.completed"]
    assert frames[1]["attempt"] == 1
    assert frames[2]["finished_at"] == frames[2]["at"]


async def test_the_end_of_an_attempt_says_how_far_it_came(listening, queue, session):
    def live_one():
        from apps.audit.relay import relay

        enqueue(queue)
        taken = take_one(session, queue)
        last_word(session_id=session.pk, told=[(taken.fence, Told(job_id=taken.job_id, done=9, total=9, stage="sent"))])
        finish(session, taken)
        relay()

    await sync_to_async(live_one)()
    frames = [frame for frame in await listening.frames(3) if frame["kind"] != "job.progress"]
    assert [frame["done"] for frame in frames] == [None, None, 9]
    assert (frames[2]["stage"], frames[2]["total"], frames[2]["result_url"]) == ("sent", 9, None)


async def test_progress_comes_beside_the_log_without_a_number(listening, queue, session):
    def report_progress(done):
        taken = take_one(session, queue) if done == 1 else None
        job_id = taken.job_id if taken else Progress.objects.get().job_id
        Progress.objects.update_or_create(
            job_id=job_id,
            defaults={
                "done": done,
                "total": 9,
                "stage": "resize",
                "at": timezone.now(),
                "attempt": 1,
                "fence": find(job_id).fence,
            },
        )
        return str(job_id)

    await sync_to_async(enqueue)(queue)
    job_id = await sync_to_async(report_progress)(1)
    first = await listening.frame()
    await sync_to_async(report_progress)(2)
    second = await listening.frame()
    assert [(frame["kind"], frame["job_id"], frame["done"]) for frame in (first, second)] == [
        ("job.progress", job_id, 1),
        ("job.progress", job_id, 2),
    ]
    assert "seq" not in first
    assert (first["stage"], first["total"]) == ("resize", 9)


async def test_nothing_is_left_open_when_nobody_reads(own_database, reader, token):
    socket = reader(token)
    await socket.connect()
    await socket.frame()
    await socket.disconnect()
    with own_database.connect() as admin:
        assert _followers(admin) == 0


def _followers(admin: psycopg.Connection) -> int:
    [(count,)] = admin.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ~ '(LISTEN|audit_head|jobs_progress)'"
        " AND pid <> pg_backend_pid()"
    ).fetchall()
    return int(count)
