"""What goes over the wire: to the address that was checked, once, as asked, and what is kept of the answer."""

import asyncio
from collections.abc import Sequence

import pytest

from apps.runtime.outbound import BODY_MAX, NoAnswer, Request, send
from tests.runtime.neighbours import Names, get, serving


async def test_proxies_of_the_environment_are_not_asked(settings, monkeypatch):
    async with serving() as server, serving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        await send(get(f"http://hook.test:{server.port}/"), resolve=Names(["127.0.0.1"]))
    assert (len(server.seen), len(proxy.seen)) == (1, 0)


async def test_a_redirect_to_the_inside_is_an_answer_and_nothing_more(settings):
    async with serving() as inside:
        location = f"http://127.0.0.1:{inside.port}/secret"
        async with serving(f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()) as door:
            settings.HTTP_ALLOW_PRIVATE = ["hook.test", "127.0.0.1"]
            answer = await send(get(f"http://hook.test:{door.port}/"), resolve=Names(["127.0.0.1"]))
    assert (answer.status, answer.headers["location"]) == (302, location)
    assert inside.seen == []


async def test_tls_is_spoken_with_the_name_and_not_with_the_address(settings):
    hello = asyncio.get_running_loop().create_future()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.set_result(await reader.read(4096))
        writer.close()

    listener = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
    with pytest.raises(NoAnswer):
        await send(get(f"https://hook.test:{port}/"), resolve=Names(["127.0.0.1"]))
    listener.close()
    assert b"hook.test" in await hello


async def test_the_connection_goes_to_the_checked_address_though_the_name_has_moved_on(settings):
    async with serving() as checked, serving(host="127.0.0.2", port=checked.port) as other:
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        names = Names(["127.0.0.1"], ["127.0.0.2"])
        answer = await send(get(f"http://hook.test:{checked.port}/"), resolve=names)
    assert answer.status == 200
    assert names.asked == ["hook.test"]
    assert len(checked.seen) == 1
    assert other.seen == []
    assert f"Host: hook.test:{checked.port}".encode() in checked.header_lines


async def test_what_is_asked_for_is_what_is_sent(settings):
    async with serving() as server:
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        request = Request(
            method="POST",
            url=f"http://hook.test:{server.port}/a?q=1",
            headers={"X-A": "1", "user-agent": "mine"},
            content=b"abc",
        )
        answer = await send(request, resolve=Names(["127.0.0.1"]))
    assert (answer.status, answer.body, answer.cut) == (200, b"ok", False)
    assert server.seen[0].startswith(b"POST /a?q=1 HTTP/1.1\r\n")
    lines = [line.lower() for line in server.header_lines]
    assert {b"x-a: 1", b"user-agent: mine", b"content-length: 3", b"accept-encoding: identity"} <= set(lines)
    assert sum(line.startswith(b"user-agent:") for line in lines) == 1


async def test_the_next_address_is_tried_when_one_accepts_no_connection(settings):
    async with serving() as server:
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        answer = await send(get(f"http://hook.test:{server.port}/"), resolve=Names(["127.0.0.3", "127.0.0.1"]))
    assert answer.status == 200


async def test_no_connection_at_all_is_no_answer(settings):
    async with serving() as server:
        port = server.port
    settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
    with pytest.raises(NoAnswer, match="no connection"):
        await send(get(f"http://hook.test:{port}/"), resolve=Names(["127.0.0.1"]))


async def test_a_broken_answer_is_no_answer(settings):
    async with serving(b"this is not HTTP\r\n\r\n") as server:
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        with pytest.raises(NoAnswer):
            await send(get(f"http://hook.test:{server.port}/"), resolve=Names(["127.0.0.1"]))


@pytest.mark.parametrize(("size", "cut"), [(BODY_MAX, False), (BODY_MAX + 1, True)])
async def test_a_long_answer_is_cut_and_says_so(settings, size, cut):
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()
    async with serving(head + b"x" * size) as server:
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        answer = await send(get(f"http://hook.test:{server.port}/"), resolve=Names(["127.0.0.1"]))
    assert (len(answer.body), answer.cut) == (BODY_MAX, cut)


async def test_an_endless_answer_is_left_after_what_is_kept_of_it(settings):
    async with serving(b"HTTP/1.1 200 endless\r\n\r\n") as server:
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        answer = await send(get(f"http://hook.test:{server.port}/"), resolve=Names(["127.0.0.1"]))
    assert (len(answer.body), answer.cut) == (BODY_MAX, True)


async def test_an_answer_that_would_unpack_to_a_bomb_stays_packed(settings):
    async with serving(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08") as server:
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        answer = await send(get(f"http://hook.test:{server.port}/"), resolve=Names(["127.0.0.1"]))
    assert answer.body == b"\x1f\x8b\x08"


async def test_the_time_limit_counts_from_the_look_up_to_the_last_byte(settings):
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.get_running_loop().create_future()
        return []

    async with serving(b"HTTP/1.1 200 slow\r\nContent-Length: 9\r\n\r\nslow") as server:
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        with pytest.raises(NoAnswer, match=r"within 0\.2 s"):
            await send(get(f"http://hook.test:{server.port}/", timeout=0.2), resolve=Names(["127.0.0.1"]))
        server.hold.set()
    with pytest.raises(NoAnswer, match=r"within 0\.1 s"):
        await send(get("http://hook.test/", timeout=0.1), resolve=never)
