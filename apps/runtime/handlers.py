"""Job types that every installation has: four to try things with, and `http.request`."""

import asyncio
import base64
import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from apps.handlers import Context, Discard, Retry, handler
from apps.queues.states import TIMEOUT_MAX_MS
from apps.runtime import outbound

TIMEOUT_DEFAULT, TIMEOUT_MAX = 10.0, 300.0  # seconds a call may take
RETRY_AFTER_MAX = 86_400.0  # seconds; who asks for more is asked again tomorrow
TRY_AGAIN = frozenset({408, 425, 429})  # and every 5xx
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS_KEPT = (
    "cache-control", "content-encoding", "content-length", "content-type", "date", "etag", "last-modified", "link",
    "location", "retry-after", "server", "x-request-id",
)  # fmt: skip
HEADER_MAX = 1024  # characters of one header that are kept
EXCERPT = 500  # characters of an unwanted answer that go to the log

_BINARY = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")


class BadPayload(Discard):
    """This payload can't be worked on, now or later."""


class NotSent(Discard):
    """The rules of apps/runtime/outbound.py forbid this request."""


class UnwantedAnswer(Discard):
    """The other side refuses, and would again."""


class TryAgain(Retry):
    """The other side can't just now."""


class Failed(Exception):
    """What `fail` was asked for."""


@handler("noop")
async def noop(ctx: Context, payload: Any) -> None:
    """Do nothing."""


@handler("echo")
async def echo(ctx: Context, payload: Any) -> Any:
    """Answer the payload."""
    return payload


@handler("sleep")
async def sleep(ctx: Context, payload: Any) -> dict[str, Any]:
    """Wait `ms` milliseconds."""
    fields = _fields(payload, {"ms"})
    ms = _number(fields, "ms", default=None, most=TIMEOUT_MAX_MS)
    await asyncio.sleep(ms / 1000)
    return {"slept_ms": fields["ms"]}


@handler("fail")
async def fail(ctx: Context, payload: Any) -> dict[str, Any]:
    """Fail with `message`: for good when `permanent`; after `times` attempts no more."""
    fields = _fields(payload, {"message", "permanent", "times"})
    message, permanent = fields.get("message", "asked to fail"), fields.get("permanent", False)
    if not isinstance(message, str) or not isinstance(permanent, bool):
        raise BadPayload("`message` is a text and `permanent` true or false.")
    if ctx.attempt > _number(fields, "times", default=float("inf")):
        return {"failed": ctx.attempt - 1}
    raise Discard(message) if permanent else Failed(message)


@handler("http.request", timeout=TIMEOUT_MAX + 10)
async def http_request(ctx: Context, payload: Any) -> dict[str, Any]:
    """Call a URL; the answer is the result, unless its status says to try again or to give up."""
    call = Call.of(payload, idempotency_key=ctx.idempotency_key)
    try:
        answer = await outbound.send(call.request)
    except outbound.Refused as error:
        raise NotSent(str(error)) from error
    except outbound.NoAnswer as error:
        raise TryAgain(str(error)) from error
    ctx.log(f"{call.request.method} answered {answer.status}")
    if call.wants(answer.status):
        return _result(answer)
    ctx.log(_excerpt(answer), level="warning")
    if answer.status in TRY_AGAIN or answer.status >= 500:
        raise _try_again(answer)
    if 300 <= answer.status < 400:
        raise UnwantedAnswer(f"Answered {answer.status}; redirects are not followed.")
    raise UnwantedAnswer(f"Answered {answer.status}.")


@dataclass(frozen=True, slots=True)
class Call:
    """A payload of `http.request`, understood."""

    request: outbound.Request
    expect: frozenset[str]

    @classmethod
    def of(cls, payload: Any, *, idempotency_key: str) -> "Call":
        fields = _fields(payload, {"method", "url", "headers", "body", "timeout_seconds", "expect_status"})
        method, url = fields.get("method", "GET"), fields.get("url")
        if not isinstance(method, str) or not isinstance(url, str):
            raise BadPayload("`url` is a text, and `method` one of the methods of HTTP.")
        content_type, content = _content(fields.get("body"))
        headers = _merge(
            {"Content-Type": content_type} if content else {},
            {} if method.upper() in SAFE else {"Idempotency-Key": idempotency_key},
            _headers(fields.get("headers", {})),
        )
        seconds = _number(fields, "timeout_seconds", default=TIMEOUT_DEFAULT, most=TIMEOUT_MAX)
        if not seconds:
            raise BadPayload("`timeout_seconds` is more than 0.")
        request = outbound.Request(method=method.upper(), url=url, headers=headers, content=content, timeout=seconds)
        return cls(request, _expect(fields.get("expect_status", "2xx")))

    def wants(self, status: int) -> bool:
        return not self.expect.isdisjoint({str(status), f"{status // 100}xx"})


def _fields(payload: Any, known: set[str]) -> dict[str, Any]:
    if not isinstance(payload, dict):
        raise BadPayload("The payload is an object.")
    if unknown := sorted(payload.keys() - known):
        raise BadPayload(f"Unknown: {', '.join(unknown)[:200]}. Known: {', '.join(sorted(known))}.")
    return payload


def _number(fields: Mapping[str, Any], name: str, *, default: float | None, most: float = float("inf")) -> float:
    value = fields.get(name, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
        raise BadPayload(f"`{name}` is a number, from 0{f' to {most:g}' if most < float('inf') else ''}.")
    return value


def _headers(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise BadPayload("`headers` is an object of texts.")
    return value


def _merge(*layers: Mapping[str, str]) -> dict[str, str]:
    """Join headers, whose names know no case; later ones win."""
    merged: dict[str, tuple[str, str]] = {}
    for layer in layers:
        merged.update({name.lower(): (name, value) for name, value in layer.items()})
    return dict(merged.values())


def _content(body: Any) -> tuple[str, bytes]:
    """Send a text as it is and anything else as JSON."""
    if body is None:
        return "", b""
    if isinstance(body, str):
        return "text/plain; charset=utf-8", body.encode()
    return "application/json", json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def _expect(value: Any) -> frozenset[str]:
    """Statuses (204) and classes of them ("2xx"), one or a list."""
    wanted = frozenset(str(each).lower() for each in (value if isinstance(value, list) else [value]))
    if not wanted or not all(re.fullmatch(r"[1-5](\d\d|xx)", each) for each in wanted):
        raise BadPayload('`expect_status` is a status such as 204, a class such as "2xx", or a list of these.')
    return wanted


def _result(answer: outbound.Response) -> dict[str, Any]:
    """Turn an answer into a job's result. What was cut is named in it."""
    kept = {name: answer.headers[name] for name in HEADERS_KEPT if name in answer.headers}
    result: dict[str, Any] = {
        "status": answer.status,
        "headers": {name: value[:HEADER_MAX] for name, value in kept.items()},
    }
    if long := sorted(name for name, value in kept.items() if len(value) > HEADER_MAX):
        result["headers_cut"] = long
    text = _text(answer)
    if text is None:
        result["body_base64"] = base64.b64encode(answer.body).decode()
    else:
        result["body"] = text
    return {**result, "body_cut": answer.cut}


def _text(answer: outbound.Response) -> str | None:
    """The body as text, or None when it is not clearly that. A character cut in two at the end is left out."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(answer.body, final=not answer.cut)
    except UnicodeDecodeError:
        return None
    return None if _BINARY.search(text) else text


def _excerpt(answer: outbound.Response) -> str:
    text = answer.body.decode(errors="replace").replace("\0", "\ufffd")
    more = " …" if answer.cut or len(text) > EXCERPT else ""
    return f"{text[:EXCERPT]}{more}" or "(an empty answer)"


def _try_again(answer: outbound.Response) -> TryAgain:
    """Come back when the other side asks for it, at most a day later; else as the policy says."""
    asked = _retry_after(answer)
    if asked is None or asked <= RETRY_AFTER_MAX:
        return TryAgain(f"Answered {answer.status}.", after=asked)
    return TryAgain(f"Answered {answer.status}; asks to wait {asked:.0f} s, a day it is.", after=RETRY_AFTER_MAX)


def _retry_after(answer: outbound.Response) -> float | None:
    """Seconds to wait, which are told by number or by date."""
    value = answer.headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,18}", value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
