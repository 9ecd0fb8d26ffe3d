"""What machines ask that keep watch: /livez and /readyz, in the words of a worker's, and /metrics for who has its token.

They come by address and in the clear from beside the process, so they are answered before anything looks at Host,
scheme or session; and no line of theirs is logged, for there would be one every few seconds (config/logs.py).
"""

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import cast

import psycopg
import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.crypto import constant_time_compare
from django.utils.decorators import sync_and_async_middleware
from prometheus_client import CONTENT_TYPE_LATEST

from apps.errors import NotAuthenticated, NotFound, Unavailable
from apps.jobs.selectors.metrics import gauge
from apps.runtime.selectors.readiness import watch
from config.api import respond

log = structlog.get_logger("fencepost.web")

type Answer = Callable[[HttpRequest], HttpResponseBase]
type AsyncAnswer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


def livez(request: HttpRequest) -> HttpResponseBase:
    """Live is who answers: a database that is away makes no process dead, for a new one would not fare better."""
    return _say({"live": True}, is_well=True)


def readyz(request: HttpRequest) -> HttpResponseBase:
    seen = watch()
    return _say(seen.facts, is_well=seen.ready)


def metrics(request: HttpRequest) -> HttpResponseBase:
    """Numbers of all tenants: for who has the installation's own token, so that no tenant's opens it."""
    if not settings.METRICS_TOKEN:
        return respond(request, NotFound("METRICS_TOKEN is not set."))
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not constant_time_compare(given, settings.METRICS_TOKEN):
        return respond(request, NotAuthenticated())
    try:
        return HttpResponse(gauge(), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})
    except (psycopg.Error, OSError) as error:
        log.warning("not measured", error=str(error).strip())
        return respond(request, Unavailable(retry_after=5))


def _say(facts: dict[str, object], *, is_well: bool) -> HttpResponseBase:
    return JsonResponse(facts, status=200 if is_well else 503, headers={"Cache-Control": "no-store"})


DOORS: dict[str, Answer] = {"/livez": livez, "/readyz": readyz, "/metrics": metrics}


@sync_and_async_middleware
def probes(get_response: Answer | AsyncAnswer) -> Answer | AsyncAnswer:
    """Answer at these doors, and let everything else through."""
    if iscoroutinefunction(get_response):
        ask_later = cast("AsyncAnswer", get_response)

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            door = DOORS.get(request.path_info)
            return await sync_to_async(_enter)(door, request) if door else await ask_later(request)

        return answer_later

    ask = cast("Answer", get_response)

    def answer(request: HttpRequest) -> HttpResponseBase:
        door = DOORS.get(request.path_info)
        return _enter(door, request) if door else ask(request)

    return answer


def _enter(door: Answer, request: HttpRequest) -> HttpResponseBase:
    return door(request) if request.method in ("GET", "HEAD") else HttpResponseNotAllowed(["GET", "HEAD"])
