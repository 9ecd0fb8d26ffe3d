"""What every request passes: its id, the static files; and the name that a failed login is counted under."""

import re
from collections.abc import Awaitable, Callable, Mapping
from inspect import iscoroutinefunction

import structlog
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from uuid_utils.compat import uuid7
from whitenoise.base import StaticFile
from whitenoise.middleware import WhiteNoiseMiddleware

type Answer = Callable[[HttpRequest], HttpResponseBase]
type AsyncAnswer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]

# Anything else could forge a log line or a header, so it gets a new id instead.
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


@sync_and_async_middleware
def request_id(get_response: Answer | AsyncAnswer) -> Answer | AsyncAnswer:
    """Take or make X-Request-Id, bind it to all log lines of the request, and say it in the answer."""
    if iscoroutinefunction(get_response):

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            with structlog.contextvars.bound_contextvars(request_id=_name(request)):
                return _say(request, await get_response(request))

        return answer_later

    def answer(request: HttpRequest) -> HttpResponseBase:
        with structlog.contextvars.bound_contextvars(request_id=_name(request)):
            return _say(request, get_response(request))

    return answer


def _name(request: HttpRequest) -> str:
    given = request.headers.get("X-Request-Id", "")
    request.request_id = given if _SANE_ID.fullmatch(given) else str(uuid7())
    return request.request_id


def _say(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    response["X-Request-Id"] = request.request_id
    return response


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise answers with an open file, which ASGI would read in the event loop: answer with bytes."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
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
                return name.strip().lower()
    return None
