"""The same over TCP, through the server that production uses."""

import asyncio
import json
import socket as tcp
from contextlib import suppress
from pathlib import Path

import pytest
import uvicorn
from asgiref.sync import sync_to_async
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from apps.audit.models import Outbox
from apps.audit.relay import relay
from apps.audit.tail import live
from apps.events import consumers
from apps.runtime.services.up import BOUNDS
from tests.events.conftest import atell

pytestmark = pytest.mark.usefixtures("own_database")


@pytest.fixture
async def port(own_database):
    """Where a server listens, in this process, so that a test may shorten its patience."""
    from config.asgi import application

    with tcp.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(tcp.SOL_SOCKET, tcp.SO_SNDBUF, 131_072)  # its connections inherit it
        config = uvicorn.Config(application, ws="websockets-sansio", lifespan="off", log_level="error", **BOUNDS)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield listener.getsockname()[1]
        server.should_exit = server.force_exit = True
        await serving


def stream(port, project, token, *, after="", **options):
    return connect(
        f"ws://127.0.0.1:{port}/api/v1/projects/{project.pk}/events/stream?after={after}",
        subprotocols=[Subprotocol("fencepost.v1"), Subprotocol(f"fencepost.token.{token.text}")],
        compression=None,
        close_timeout=0.1,  # one that has not read all it was sent does not hear the answer
        **options,
    )


async def test_a_client_without_a_browser_follows_and_resumes(port, project, token):
    async with stream(port, project, token) as socket:
        assert json.loads(await socket.recv())["kind"] == "hello"
        await atell(project, jobs=2)
        assert [json.loads(await socket.recv())["seq"] for _ in range(2)] == [1, 2]
    await atell(project, jobs=2)
    async with stream(port, project, token, after=1) as socket:
        assert [json.loads(await socket.recv()).get("seq") for _ in range(4)] == [None, 2, 3, 4]


async def test_a_reader_that_does_not_read_is_dropped_and_others_go_on(port, project, token, monkeypatch):
    monkeypatch.setattr(consumers, "SEND_SECONDS", 0.5)
    async with stream(port, project, token) as quick, stream(port, project, token, max_queue=1) as stuck:
        await quick.recv()
        stuck.transport.pause_reading()
        await sync_to_async(_flood)(project)
        seqs = [json.loads(await quick.recv())["seq"] for _ in range(5000)]
        assert seqs == list(range(1, 5001))
        await _until(lambda: readers() == 1)
        stuck.transport.resume_reading()
        last = await _last_of(stuck)
        assert stuck.close_code in {4408, 1006}  # the latter where even that could not be said
        assert last < 5000
    async with stream(port, project, token, after=last) as socket:
        await socket.recv()
        assert json.loads(await socket.recv())["prev_seq"] == last


def readers():
    """How many readers the follower of this process has."""
    return sum(line.readers for line in live._tails[asyncio.get_running_loop()].lines.values())


async def _until(holds):
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _last_of(socket):
    """Read what had left before the socket was closed."""
    last = 0
    with suppress(ConnectionClosed):
        async for text in socket:
            last = json.loads(text).get("seq", last)
    return last


def _flood(project):
    """More than the buffers of a socket hold."""
    for _ in range(5):
        Outbox.objects.create(
            project_id=project.pk,
            job_ids=[project.pk] * 1000,
            errors=["x" * 2000] * 1000,
            kind="job.dead_letter",
            state="dead_letter",
            at=project.created_at,
        )
    relay()


@pytest.mark.parametrize("line", [b"X-A: %s\r\n" % (b"a" * 1000), b"a" * 1000])
async def test_a_head_that_does_not_end_is_not_kept(port, line):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-B: ")
    with suppress(ConnectionError):
        for _ in range(4000):
            writer.write(line)
            await writer.drain()
        writer.write(b"\r\n\r\n")
        assert (await reader.read(12)).startswith(b"HTTP/1.1 4")
    writer.close()


def test_the_runbook_says_the_same_bounds():
    said = f"uvicorn --http {BOUNDS['http']} --ws-max-size {BOUNDS['ws_max_size']} config.asgi:application"
    assert said in (Path(__file__).parents[2] / "docs" / "runbook.md").read_text()
