"""HTTP that leaves the house: to public addresses only, and to the very address that was checked.

A name is resolved once; every address it has must be public; the connection goes to one of those, with
the name kept in Host and in TLS. So a name that answers differently the second time gains nothing. No
redirects, no proxies from the environment, no credentials in URLs, ports 80 and 443. Hosts named in
HTTP_ALLOW_PRIVATE ("host" or "host:port") are excused from the rules of port and address, and so is what
whoever runs this installation has set up.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx
from django.conf import settings

BODY_MAX = 65_536  # bytes of an answer that are kept
PORTS = {"http": 80, "https": 443}
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_VALUE = re.compile(r"[\t\x20-\x7e]{0,8192}")
_NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]{0,252}[a-z0-9_])?\.?")
_CONNECTION_HEADERS = frozenset({
    "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip

# Of IPv6 only what is handed out is public: is_global calls much of the rest global too, multicast among it.
_HANDED_OUT = IPv6Network("2000::/3")
# NAT64 and IPv4-mapped: the last 32 bits are the IPv4 address that is meant.
_WRAPPINGS = (IPv6Network("64:ff9b::/96"), IPv6Network("::ffff:0:0/96"))
# Relays of 6to4; what is kept for protocols, Teredo among it; documentation.
_NOT_PUBLIC = (IPv4Network("192.88.99.0/24"), IPv6Network("2001::/23"), IPv6Network("3fff::/20"))

type Resolver = Callable[[str, int], Awaitable[Sequence[str]]]


class Refused(Exception):
    """This request is not sent from here."""


class NoAnswer(Exception):
    """No answer came; the same request may be sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    timeout: float = 10.0  # seconds, from the look-up of the name to the last byte
    is_ours: bool = False  # from a setting, never from a tenant: any port, any address


@dataclass(frozen=True, slots=True)
class Response:
    """`body` is as sent, at most BODY_MAX bytes; `cut` says that there was more."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool


@dataclass(frozen=True, slots=True)
class Target:
    """Where a URL leads, before its name is looked up."""

    url: httpx.URL
    host: str
    port: int
    trusted: bool

    @classmethod
    def of(cls, text: str, *, is_ours: bool = False) -> "Target":
        """Read a URL with the parser that will also send it, and refuse what no address can make right."""
        try:
            url = httpx.URL(text)
        except httpx.InvalidURL as error:
            raise Refused(f"This is not a URL: {error}") from error
        if url.scheme not in PORTS:
            raise Refused("Only http and https are spoken here.")
        if url.userinfo:
            raise Refused("Credentials don't belong in a URL: send a header.")
        host = url.raw_host.decode("ascii")
        if not (_NAME.fullmatch(host) or _is_address(host)):
            raise Refused(f"{host[:255]!r} is no host.")
        port = PORTS[url.scheme] if url.port is None else url.port
        trusted = is_ours or _trusts(host.removesuffix("."), port)
        if port not in (range(1, 65_536) if trusted else PORTS.values()):
            raise Refused(f"Port {port} is not allowed; 80 and 443 are.")
        return cls(url, host, port, trusted)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system for every address of a host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def send(request: Request, *, resolve: Resolver = resolve) -> Response:
    """Send one request and read its answer. Raises Refused, or NoAnswer when nothing usable came back."""
    target = Target.of(request.url, is_ours=request.is_ours)
    if request.method not in METHODS:
        raise Refused(f"The method is one of {', '.join(sorted(METHODS))}.")
    _check_headers(request.headers)
    try:
        async with asyncio.timeout(request.timeout):
            addresses = await _addresses(target, resolve)
            return await _send_to_first(request, target, addresses)
    except TimeoutError as error:
        raise NoAnswer(f"No answer within {request.timeout:g} s.") from error


def is_public(address: str) -> bool:
    """Is this an address that the whole world may reach? A wrapped IPv4 address counts as what is inside."""
    try:
        ip = _unwrapped(ip_address(address))
    except ValueError:
        return False
    if isinstance(ip, IPv6Address) and ip not in _HANDED_OUT:
        return False
    closed = ip.is_multicast or ip.is_reserved or any(ip in network for network in _NOT_PUBLIC)
    return ip.is_global and not closed


def _unwrapped(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Older wrappings are not undone: nobody serves there any more, and none of them is public."""
    if isinstance(ip, IPv6Address) and any(ip in wrapping for wrapping in _WRAPPINGS):
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _trusts(host: str, port: int) -> bool:
    written = f"[{host}]" if ":" in host else host
    allowed = {entry.strip().lower() for entry in settings.HTTP_ALLOW_PRIVATE}
    return not allowed.isdisjoint({host, written, f"{written}:{port}"})


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Refused(f"The header {name[:128]!r} has characters that a header can't carry, or too many.")
        if name.lower() in _CONNECTION_HEADERS:
            raise Refused(f"The header {name} is set by the connection itself.")


async def _addresses(target: Target, resolve: Resolver) -> Sequence[str]:
    """Look the host up once; one address that is not public condemns them all."""
    try:
        addresses = await resolve(target.host, target.port)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise NoAnswer(f"{target.host} can't be looked up just now.") from error
        raise Refused(f"{target.host} has no address.") from error
    except (OSError, UnicodeError) as error:
        raise Refused(f"{target.host} can't be looked up: {error}") from error
    if not addresses:
        raise Refused(f"{target.host} has no address.")
    if not target.trusted and not all(is_public(address) for address in addresses):
        raise Refused(f"{target.host} is not a public address.")  # which one it is, is nobody's business
    return addresses


async def _send_to_first(request: Request, target: Target, addresses: Sequence[str]) -> Response:
    """Try the addresses in order until one accepts a connection; after that the request counts as sent."""
    limits = httpx.Timeout(None, connect=request.timeout / len(addresses))
    trouble: httpx.TransportError | None = None
    async with httpx.AsyncClient(verify=_tls(), timeout=limits, trust_env=False, follow_redirects=False) as client:
        for address in addresses:
            try:
                return await _send_to(client, request, target, address)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                trouble = error
            except httpx.TransportError as error:
                raise NoAnswer(f"{type(error).__name__}: {error}") from error
    raise NoAnswer(f"{target.host} accepts no connection: {trouble}") from trouble


async def _send_to(client: httpx.AsyncClient, request: Request, target: Target, address: str) -> Response:
    """Send to this address, by the name it was found under."""
    message = client.build_request(
        request.method,
        target.url.copy_with(host=address.partition("%")[0]),
        headers=_headers(request, target),
        content=request.content or None,
        extensions={"sni_hostname": target.host.removesuffix(".")},
    )
    response = await client.send(message, stream=True)
    try:
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > BODY_MAX:
                break
        return Response(response.status_code, response.headers, bytes(body[:BODY_MAX]), len(body) > BODY_MAX)
    finally:
        await response.aclose()


def _headers(request: Request, target: Target) -> httpx.Headers:
    headers = httpx.Headers({"Accept": "*/*", "User-Agent": "fencepost"})
    headers.update(request.headers)
    headers["Accept-Encoding"] = "identity"  # an answer that unpacks to gigabytes is not asked for
    headers["Host"] = target.url.netloc.decode("ascii")
    return headers


@cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context()
