"""A queue: how it does, what it runs next, and its switch."""

from typing import cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Role
from apps.dashboard.selectors.access import queue_seat
from apps.dashboard.selectors.listing import dead_letters, next_up, running
from apps.dashboard.selectors.overview import line_of
from apps.dashboard.views.order import reason, until
from apps.dashboard.views.shell import Request, actor, attempted, back, page, part, show
from apps.errors import BadInput
from apps.jobs import services as jobs
from apps.jobs.selectors.failures import failures
from apps.queues import services as queues
from apps.queues.selectors import paused_types

PREVIEW = 10  # jobs shown of each kind
WAYS = {
    "open": "The breaker of {name} is open; what runs goes on to its end.",
    "closed": "The breaker of {name} is closed, and failures are counted anew.",
}


@require_GET
@page
def queue(request: HttpRequest, queue_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = queue_seat(request.user, queue_id)
    line, workers = line_of(one)
    is_part = part(request) == "queue"
    return show(
        request,
        "dashboard/parts/queue.html" if is_part else "dashboard/queue.html",
        seat,
        queue=one,
        line=line,
        fleet=workers,
        running=running(one, PREVIEW),
        waiting=next_up(one, PREVIEW),
        dead=dead_letters(one, PREVIEW),
        paused_types=paused_types(one.project),
        failed=None if is_part else failures(one.pk),  # made anew every five minutes
    )


@require_POST
@page
def pause(request: HttpRequest, queue_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = queue_seat(request.user, queue_id)
    seat.demand(Role.MEMBER)
    attempted(
        request,
        lambda: queues.pause(queue=one, actor=actor(request), reason=reason(request), until=until(request)),
        f"{one.name} is paused; what runs goes on to its end.",
    )
    return redirect(back(request, reverse("dashboard:queue", args=[queue_id])))


@require_POST
@page
def resume(request: HttpRequest, queue_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = queue_seat(request.user, queue_id)
    seat.demand(Role.MEMBER)
    attempted(request, lambda: jobs.resume_queue(queue=one, actor=actor(request)), f"{one.name} goes on.")
    return redirect(back(request, reverse("dashboard:queue", args=[queue_id])))


@require_POST
@page
def breaker(request: HttpRequest, queue_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = queue_seat(request.user, queue_id)
    seat.demand(Role.MEMBER)
    way = request.POST.get("state", "")
    attempted(
        request,
        lambda: jobs.set_breaker(queue=one, actor=actor(request), state=_way(way), until=until(request)),
        WAYS.get(way, "").format(name=one.name),
    )
    return redirect(back(request, reverse("dashboard:queue", args=[queue_id])))


def _way(asked: str) -> str:
    if asked not in WAYS:
        raise BadInput(f"A breaker is {' or '.join(WAYS)}.")
    return asked


@require_POST
@page
def purge(request: HttpRequest, queue_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = queue_seat(request.user, queue_id)
    seat.demand(Role.ADMIN)
    attempted(
        request,
        lambda: jobs.purge(queue=one, actor=actor(request)),
        f"Every queued job of {one.name} was cancelled.",
    )
    return redirect(reverse("dashboard:queue", args=[queue_id]))
