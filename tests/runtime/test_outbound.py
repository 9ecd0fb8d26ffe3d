"""What leaves the house: only to public addresses, to the one that was checked, and nothing can be smuggled in."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from apps.runtime import outbound
from apps.runtime.outbound import BODY_MAX, NoAnswer, Refused, Request, send

INSIDE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::169.254.169.254",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a9fe:a9fe::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not an address",
]
OUTSIDE = ["8.8.8.8", "2606:4700:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808"]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers every request with the same bytes and remembers what came."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.seen, self.port = answer, list[bytes](), 0
        self.hold = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.seen.append(head)
        writer.write(self.answer)
        await writer.drain()
        while self.answer.startswith(b"HTTP/1.1 200 endless") and not writer.is_closing():
            writer.write(b"x" * 8192)
            await writer.drain()
        if self.answer.startswith(b"HTTP/1.1 200 slow"):
            await self.hold.wait()
        writer.close()

    @property
    def header_lines(self) -> list[bytes]:
        return self.seen[-1].split(b"\r\n")[1:]


@asynccontextmanager
async def serving(answer: bytes = OK, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Server]:
    server = Server(answer)
    listener = await asyncio.start_server(server.serve, host, port)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()


class Names:
    """A resolver that gives one list of addresses after another."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked = list(answers), list[str]()

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0)


async def unknown(host: str, port: int) -> Sequence[str]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


async def no_server(host: str, port: int) -> Sequence[str]:
    raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


def get(url: str, **fields) -> Request:
    return Request(method="GET", url=url, **fields)


@pytest.mark.parametrize("address", INSIDE)
async def test_an_address_that_is_not_public_is_refused(address):
    with pytest.raises(Refused, match="not a public address"):
        await send(get("http://hook.test/"), resolve=Names([address]))


@pytest.mark.parametrize("address", OUTSIDE)
def test_a_public_address_may_be_called(address):
    assert outbound.is_public(address)


async def test_one_private_address_among_public_ones_is_enough():
    with pytest.raises(Refused):
        await send(get("http://hook.test/"), resolve=Names(["8.8.8.8", "2606:4700::1111", "127.0.0.1"]))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "0x7f000001", "2130706433", "127.1", "0177.0.0.1", "0", "localhost", "localhost.", "[::1]",
     "[::ffff:127.0.0.1]", "[::]", "169.254.169.254"],
)  # fmt: skip
async def test_every_way_to_write_our_own_address_is_refused_by_the_real_resolver(host):
    with pytest.raises(Refused):
        await send(get(f"http://{host}/"))


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


async def test_a_name_without_an_address_is_refused():
    with pytest.raises(Refused, match="no address"):
        await send(get("http://hook.test/"), resolve=unknown)
    with pytest.raises(Refused, match="no address"):
        await send(get("http://hook.test/"), resolve=Names([]))


async def test_a_name_that_cannot_be_looked_up_just_now_may_be_tried_again():
    with pytest.raises(NoAnswer):
        await send(get("http://hook.test/"), resolve=no_server)


@pytest.mark.parametrize(
    "url",
    [
        *(f"http://hook.test:{port}/" for port in (0, 22, 25, 5432, 6379, 8080, 65536, 99999)),
        "http://user@hook.test/",
        "http://user:password@hook.test/",
        "http://hook.test\\@8.8.8.8/",
        "http://hook.test:80\\@8.8.8.8/",
        "ftp://hook.test/",
        "file:///etc/passwd",
        "gopher://hook.test/",
        "//hook.test/",
        "hook.test",
        "",
        "http:",
        "http:///path",
        "http://a b/",
        "http://%31.2.3.4/",
        "http://[8.8.8.8]/",
        "http://hook.test\r\nX-Injected: 1/",
        "http://hook.test/a\r\nX-Injected: 1",
        "http://①②⑦.0.0.1/",
        "http://-/",
    ],
)
async def test_a_url_that_hides_something_is_refused_before_its_name_is_looked_up(url):
    names = Names()
    with pytest.raises(Refused):
        await send(get(url), resolve=names)
    assert names.asked == []


async def test_only_the_excused_host_is_excused(settings):
    async with serving() as server:
        settings.HTTP_ALLOW_PRIVATE = [f"hook.test:{server.port}", "[::1]:8000"]
        home = ["127.0.0.1"]
        assert (await send(get(f"http://HOOK.test:{server.port}/"), resolve=Names(home))).status == 200
        for url in ("http://hook.test/", f"http://other.test:{server.port}/", f"http://a.hook.test:{server.port}/"):
            with pytest.raises(Refused):
                await send(get(url), resolve=Names(home))
        assert outbound.Target.of("http://[::1]:8000/").trusted
    assert len(server.seen) == 1


async def test_a_redirect_to_the_inside_is_an_answer_and_nothing_more(settings):
    async with serving() as inside:
        location = f"http://127.0.0.1:{inside.port}/secret"
        async with serving(f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()) as door:
            settings.HTTP_ALLOW_PRIVATE = ["hook.test", "127.0.0.1"]
            answer = await send(get(f"http://hook.test:{door.port}/"), resolve=Names(["127.0.0.1"]))
    assert (answer.status, answer.headers["location"]) == (302, location)
    assert inside.seen == []


async def test_proxies_of_the_environment_are_not_asked(settings, monkeypatch):
    async with serving() as server, serving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        settings.HTTP_ALLOW_PRIVATE = ["hook.test"]
        await send(get(f"http://hook.test:{server.port}/"), resolve=Names(["127.0.0.1"]))
    assert (len(server.seen), len(proxy.seen)) == (1, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "1\r\nX-Injected: 1"),
        ("X-A", "1\nX-Injected: 1"),
        ("X-A", "1\0"),
        ("X-A\r\nX-Injected", "1"),
        ("X-A: 1", "1"),
        ("X A", "1"),
        ("", "1"),
        ("X-A", "é"),
        ("X-A", "x" * 8193),
        ("Host", "169.254.169.254"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "upgrade"),
        ("Upgrade", "h2c"),
        ("Proxy-Authorization", "Basic eA=="),
    ],
)
async def test_a_header_that_could_change_the_message_is_refused(name, value):
    names = Names()
    with pytest.raises(Refused, match="header"):
        await send(get("http://hook.test/", headers={name: value}), resolve=names)
    assert names.asked == []


async def test_an_unknown_method_is_refused():
    with pytest.raises(Refused, match="method"):
        await send(Request(method="GET / HTTP/1.1\r\nX: 1\r\n\r\nGET", url="http://hook.test/"), resolve=Names())


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
