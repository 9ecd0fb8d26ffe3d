"""What every request passes: its id, the static files; and the name that a failed login is counted under."""

import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from inspect import iscoroutinefunction
from typing import cast

import structlog
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from uuid_utils.compat import uuid7
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

type Answer = Callable[[HttpRequest], HttpResponseBase]
type AsyncAnswer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]

# Anything else could forge a log line or a header, so it gets a new id instead.
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_HEADER = "HTTP_X_REQUEST_ID"


@sync_and_async_middleware
def request_id(get_response: Answer | AsyncAnswer) -> Answer | AsyncAnswer:
    """Take or make X-Request-Id, bind it to all log lines of the request, and say it in the answer.

    Below, it is there for sure: request.headers["X-Request-Id"], or request_id of structlog's context.
    """
    if iscoroutinefunction(get_response):
        ask_later = cast("AsyncAnswer", get_response)

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            _name(request)
            return _say(request, await ask_later(request))

        return answer_later

    ask = cast("Answer", get_response)

    def answer(request: HttpRequest) -> HttpResponseBase:
        _name(request)
        return _say(request, ask(request))

    return answer


def _name(request: HttpRequest) -> None:
    """Bound until the next request of this thread: Django logs refusals after the last middleware has left."""
    given = request.META.get(_HEADER, "")
    request.META[_HEADER] = given if _SANE_ID.fullmatch(given) else str(uuid7())
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request.META[_HEADER])


def _say(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    response["X-Request-Id"] = request.META[_HEADER]
    return response


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise answers with an open file, which ASGI would read in the event loop: answer with bytes."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:  # type: ignore[override]
        found = static_file.get_response(request.method, request.META)
        with found.file or _Nothing() as file:
            response = HttpResponse(file.read(), status=int(found.status))
        del response["content-type"]
        for key, value in found.headers:
            response[key] = value
        return response


class _Nothing:
    """The file of an answer that has none (HEAD, 304)."""

    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def read(self) -> bytes:
        return b""


def login_name(request: HttpRequest, credentials: Mapping[str, str] | None = None) -> str | None:
    """What axes counts failures by: the pages send `login`, allauth asks by `email`, the admin by `username`."""
    for source in (credentials or {}, request.POST):
        for field in ("email", "username", "login"):
            if name := source.get(field):
                return unicodedata.normalize("NFKC", name).strip().lower()
    return None
