"""What leaves the house goes to public addresses only, and nothing is smuggled out with it."""

import socket
from collections.abc import Sequence

import pytest

from apps.runtime import outbound
from apps.runtime.outbound import NoAnswer, Refused, Request, send
from tests.runtime.neighbours import Names, get, serving

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


async def unknown(host: str, port: int) -> Sequence[str]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


async def no_server(host: str, port: int) -> Sequence[str]:
    raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


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
