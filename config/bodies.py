"""No body is larger than BODY_MAX_BYTES, whatever is asked for: what is longer is refused before anything keeps it.

Pages read forms, and a form with a file in it goes to the disk; the asynchronous server keeps a body whole before any
middleware sees its request. So the length is counted there as it comes, and here looked at as it was said.
"""

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from apps.errors import TooLarge
from config.api import respond
from config.middleware import Answer, AsyncAnswer

type Message = dict[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]
LENGTH = b"content-length"


@sync_and_async_middleware
def bodies(get_response: Answer | AsyncAnswer) -> Answer | AsyncAnswer:
    """Refuse what says of itself that it is too long."""
    if iscoroutinefunction(get_response):
        ask_later = cast("AsyncAnswer", get_response)

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            return _refusal(request) or await ask_later(request)

        return answer_later

    ask = cast("Answer", get_response)

    def answer(request: HttpRequest) -> HttpResponseBase:
        return _refusal(request) or ask(request)

    return answer


def _refusal(request: HttpRequest) -> HttpResponseBase | None:
    if _number(request.META.get("CONTENT_LENGTH", "")) <= settings.BODY_MAX_BYTES:
        return None
    refusal = TooLarge(f"The body is larger than {settings.BODY_MAX_BYTES} bytes.")
    if request.path_info.startswith("/api/"):
        return respond(request, refusal)
    return HttpResponse(str(refusal), status=refusal.status, content_type="text/plain")


def bounded(inner: App) -> App:
    """Read no more of a body than it may have; what is longer is asked without one, so that it is refused as above."""

    async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        body = _Body(receive, size=_number(dict(scope["headers"]).get(LENGTH, b"").decode("latin-1")))
        try:
            await inner(scope, body.receive, send)
        except _TooLong:
            others = [(name, value) for name, value in scope["headers"] if name != LENGTH]
            long = {**scope, "headers": [*others, (LENGTH, str(body.size).encode())]}
            await inner(long, body.nothing, send)

    return application


class _TooLong(Exception):
    """More came, or is to come, than a body may have."""


class _Body:
    """What is said of one, and what has come of it."""

    def __init__(self, receive: Receive, *, size: int) -> None:
        self.heard, self.size = receive, size
        self.came, self.is_over = 0, False

    async def receive(self) -> Message:
        message: Message = {} if self._is_long() else await self.heard()
        self.came += len(message.get("body", b""))
        self.size = max(self.size, self.came)
        if self._is_long():
            raise _TooLong
        return message

    async def nothing(self) -> Message:
        """An empty body; then what is still sent is let pass, until the caller leaves."""
        if not self.is_over:
            self.is_over = True
            return {"type": "http.request", "body": b"", "more_body": False}
        while (message := await self.heard())["type"] != "http.disconnect":
            pass
        return message

    def _is_long(self) -> bool:
        return self.size > settings.BODY_MAX_BYTES


def _number(text: str) -> int:
    return int(text[:19]) if text.isascii() and text.isdigit() else 0
