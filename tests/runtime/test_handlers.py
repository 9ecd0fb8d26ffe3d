"""The job types that every installation has."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from apps import handlers
from apps.handlers import Discard, Retry
from apps.runtime import handlers as ours
from apps.runtime.outbound import BODY_MAX


@dataclass
class Ctx:
    """As much of a Context as these handlers use."""

    attempt: int = 1
    idempotency_key: str = "job-1"
    lines: list[str] = field(default_factory=list)

    def log(self, message: str, level: str = "info") -> None:
        self.lines.append(message)


async def run(type: str, payload: Any, ctx: Ctx | None = None) -> Any:
    entry = handlers.find(type)
    assert entry is not None
    assert entry.is_async
    return await entry.call(ctx or Ctx(), payload)


async def test_noop_and_echo():
    assert await run("noop", {"any": "thing"}) is None
    for value in ({"a": [1, None, "x"]}, None, 9007199254740993, "text"):
        assert await run("echo", value) == value


async def test_sleep_lets_others_run_meanwhile():
    order = []

    async def sleeper(ms: int) -> None:
        assert await run("sleep", {"ms": ms}) == {"slept_ms": ms}
        order.append(ms)

    await asyncio.gather(sleeper(60), sleeper(1), sleeper(0))
    assert order == [0, 1, 60]


@pytest.mark.parametrize("payload", [None, {}, {"ms": "1"}, {"ms": True}, {"ms": -1}, {"ms": 1e15}, {"ms": 1, "s": 1}])
async def test_sleep_gives_up_on_a_payload_it_cannot_read(payload):
    with pytest.raises(Discard):
        await run("sleep", payload)


async def test_fail_fails_as_asked():
    with pytest.raises(ours.Failed, match="no luck"):
        await run("fail", {"message": "no luck"})
    with pytest.raises(Discard, match="never"):
        await run("fail", {"message": "never", "permanent": True})
    for attempt in (1, 2):
        with pytest.raises(ours.Failed):
            await run("fail", {"times": 2}, Ctx(attempt=attempt))
    assert await run("fail", {"times": 2}, Ctx(attempt=3)) == {"failed": 2}


# --- http.request ---


class Server:
    def __init__(self) -> None:
        self.url, self.answer, self.head, self.body = "", b"", b"", b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = await reader.readuntil(b"\r\n\r\n")
        length = [line for line in self.head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        self.body = await reader.readexactly(int(length[0].split(b":")[1])) if length else b""
        writer.write(self.answer)
        await writer.drain()
        writer.close()

    def will_answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} So", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.answer = "\r\n".join([*lines, "", ""]).encode() + body

    @property
    def headers(self) -> dict[str, str]:
        pairs = [line.split(": ", 1) for line in self.head.decode().split("\r\n")[1:] if line]
        return {name.lower(): value for name, value in pairs}


@asynccontextmanager
async def _serving(settings) -> AsyncIterator[Server]:
    server = Server()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    server.url = f"http://127.0.0.1:{port}/hook"
    settings.HTTP_ALLOW_PRIVATE = [f"127.0.0.1:{port}"]
    try:
        yield server
    finally:
        listener.close()


@pytest.fixture
async def server(settings) -> AsyncIterator[Server]:
    async with _serving(settings) as running:
        yield running


async def test_a_call_with_only_a_url_is_a_get_whose_answer_is_the_result(server):
    server.will_answer(200, b'{"ok": true}', Content_Type="application/json", Set_Cookie="secret=1")
    result = await run("http.request", {"url": server.url})
    assert server.head.startswith(b"GET /hook HTTP/1.1")
    assert "idempotency-key" not in server.headers
    assert result == {
        "status": 200,
        "headers": {"content-length": "12", "content-type": "application/json"},
        "body": '{"ok": true}',
        "body_cut": False,
    }


async def test_a_body_goes_out_as_json_or_as_the_text_it_is(server):
    server.will_answer(204)
    await run("http.request", {"method": "post", "url": server.url, "body": {"a": "é"}})
    assert json.loads(server.body) == {"a": "é"}
    assert server.headers["content-type"] == "application/json"
    await run("http.request", {"method": "PUT", "url": server.url, "body": "a=1", "headers": {"content-type": "x/y"}})
    assert server.body == b"a=1"
    assert server.headers["content-type"] == "x/y"
    assert server.head.lower().count(b"content-type:") == 1


async def test_what_changes_things_carries_the_key_of_the_job(server):
    server.will_answer(200)
    await run("http.request", {"method": "POST", "url": server.url})
    assert server.headers["idempotency-key"] == "job-1"
    await run("http.request", {"method": "POST", "url": server.url, "headers": {"idempotency-key": "mine"}})
    assert server.headers["idempotency-key"] == "mine"


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
async def test_trouble_that_may_pass_is_tried_again_as_the_policy_says(server, status):
    server.will_answer(status, b"busy")
    ctx = Ctx()
    with pytest.raises(Retry, match=str(status)) as caught:
        await run("http.request", {"url": server.url}, ctx)
    assert caught.value.after is None
    assert "busy" in ctx.lines


async def test_retry_after_in_seconds_is_obeyed(server):
    server.will_answer(503, Retry_After="17")
    with pytest.raises(Retry) as caught:
        await run("http.request", {"url": server.url})
    assert caught.value.after == 17


async def test_retry_after_as_a_date_is_obeyed(server):
    server.will_answer(429, Retry_After=format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True))
    with pytest.raises(Retry) as caught:
        await run("http.request", {"url": server.url})
    assert caught.value.after is not None
    assert 80 < caught.value.after <= 90


@pytest.mark.parametrize(
    ("value", "after"),
    [("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("0", 0), ("soon", None), ("-5", None), ("1e3", None), ("٣", None)],
)
async def test_retry_after_of_another_kind_is_left_alone(server, value, after):
    server.will_answer(503, Retry_After=value)
    with pytest.raises(Retry) as caught:
        await run("http.request", {"url": server.url})
    assert caught.value.after == after


@pytest.mark.parametrize("value", ["999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_nobody_makes_a_job_wait_for_years_and_the_error_says_so(server, value):
    server.will_answer(503, Retry_After=value)
    with pytest.raises(Retry, match="asks to wait") as caught:
        await run("http.request", {"url": server.url})
    assert caught.value.after == 86_400


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 404, 409, 410, 422])
async def test_a_refusal_ends_the_job(server, status):
    server.will_answer(status, b"no", Location="http://127.0.0.1/")
    with pytest.raises(Discard, match=str(status)):
        await run("http.request", {"url": server.url})


async def test_the_caller_says_which_answers_are_good(server):
    server.will_answer(404)
    assert (await run("http.request", {"url": server.url, "expect_status": [200, 404]}))["status"] == 404
    assert (await run("http.request", {"url": server.url, "expect_status": "4xx"}))["status"] == 404
    server.will_answer(200)
    with pytest.raises(Discard, match="200"):
        await run("http.request", {"url": server.url, "expect_status": 201})


async def test_no_connection_is_tried_again(settings):
    async with _serving(settings) as server:
        pass
    with pytest.raises(Retry, match="no connection"):
        await run("http.request", {"url": server.url})


async def test_the_inside_is_not_called_and_the_job_ends(settings):
    settings.HTTP_ALLOW_PRIVATE = []
    with pytest.raises(Discard, match="not a public address"):
        await run("http.request", {"url": "http://169.254.169.254/latest/meta-data/"})


async def test_a_long_answer_is_cut_and_marked_and_still_fits_a_result(server, settings):
    server.will_answer(200, "é".encode() * BODY_MAX, ETag="x" * 2000)
    result = await run("http.request", {"url": server.url})
    assert result["body_cut"] is True
    assert result["body"] == "é" * (BODY_MAX // 2)
    assert result["headers_cut"] == ["etag"]
    assert len(json.dumps(result)) < settings.PAYLOAD_MAX_BYTES


async def test_a_character_cut_in_two_does_not_turn_text_into_bytes(server):
    server.will_answer(200, b"x" + "é".encode() * BODY_MAX)
    assert (await run("http.request", {"url": server.url}))["body"] == "x" + "é" * (BODY_MAX // 2 - 1)


@pytest.mark.parametrize("body", [b"\x00\x01\x02", b"\xff\xfe", b"text with a \x00 in it", b"\x1b[31m"])
async def test_bytes_that_json_or_the_database_refuse_are_kept_as_base64(server, body):
    server.will_answer(200, body)
    result = await run("http.request", {"url": server.url})
    assert "body" not in result
    assert base64.b64decode(result["body_base64"]) == body


@pytest.mark.parametrize(
    "extra",
    [
        {"url": None},
        {"url": 1},
        {"method": 1},
        {"method": "GET\r\nX: 1"},
        {"headers": []},
        {"headers": {"a": 1}},
        {"headers": {"a": "1\r\nX-Injected: 1"}},
        {"timeout_seconds": 0},
        {"timeout_seconds": -1},
        {"timeout_seconds": 301},
        {"timeout_seconds": "5"},
        {"timeout_seconds": True},
        {"timeout_seconds": float("nan")},
        {"expect_status": []},
        {"expect_status": 99},
        {"expect_status": "ok"},
        {"expect_status": [True]},
        {"follow_redirects": True},
    ],
)
async def test_a_payload_that_cannot_be_read_ends_the_job_and_nothing_is_sent(server, extra):
    server.will_answer(200)
    with pytest.raises(Discard):
        await run("http.request", {"url": server.url, **extra})
    assert server.head == b""
