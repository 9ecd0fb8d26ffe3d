"""Jobs that run once more: a dead letter itself, or a copy of any job; with the payload as it was or as it was typed."""

import json
from typing import Any, NoReturn, cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST
from uuid_utils.compat import uuid7

from apps.accounts.models import Role
from apps.dashboard.selectors import job as reads
from apps.dashboard.selectors.access import job_seat, queue_seat
from apps.dashboard.views.jobs import verb
from apps.dashboard.views.order import number
from apps.dashboard.views.shell import Request, actor, attempted, back, clean, page
from apps.errors import BadInput
from apps.jobs import services
from apps.jobs.models import Job
from apps.jobs.services.check import KEPT
from apps.jobs.services.replay_many import ReplayedQueue
from apps.queues.models import Queue

MANY, MANY_UNSAID = 1000, 100


def payload(request: HttpRequest, one: Job) -> Any:
    """What was typed; KEPT where nobody typed anything."""
    typed = request.POST.get("payload", "").replace("\r\n", "\n")
    if not typed.strip() or typed == reads.texts(one).payload:
        return KEPT
    try:
        return json.loads(typed, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"The payload is not JSON: {error}.") from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


replay = verb(
    lambda request, one: services.replay(
        job_id=one.pk,
        actor=actor(request),
        payload=payload(request, one),
        revive_descendants="revive" in request.POST,
    ),
    "Replayed: queued again, its history kept.",
)


@require_POST
@page
def duplicate(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The copy is shown, or why there is none with the job itself."""
    request = cast("Request", request)
    one, seat = job_seat(request.user, job_id)
    seat.demand(Role.MEMBER)
    made, new_id = [job_id], uuid7()

    def act() -> None:
        services.duplicate(job_id=job_id, actor=actor(request), payload=payload(request, one), new_id=new_id)
        made.append(new_id)

    attempted(request, act, "Duplicated: this is the copy.")
    return redirect("dashboard:job", job_id=made[-1])


@require_POST
@page
def replay_queue(request: HttpRequest, queue_id: UUID) -> HttpResponse:
    """The oldest dead letters of a queue, as many and as fast as was asked for."""
    request = cast("Request", request)
    one, seat = queue_seat(request.user, queue_id)
    seat.demand(Role.MEMBER)
    attempted(request, lambda: messages.success(request, _said(_replay_many(request, one))))
    return redirect(back(request, reverse("dashboard:queue", args=[queue_id])))


def _replay_many(request: Request, queue: Queue) -> ReplayedQueue:
    return services.replay_queue(
        queue=queue,
        actor=actor(request),
        limit=number(request, "limit", 1, MANY) if "limit" in request.POST else MANY_UNSAID,
        rate_per_second=_rate(request),
        error_class=clean(request.POST.get("error_class", "")) or None,
    )


def _rate(request: HttpRequest) -> float | None:
    typed = request.POST.get("rate", "").strip()
    try:
        return float(typed) if typed else None
    except ValueError:
        raise BadInput("Give a number of jobs a second.") from None


def _said(done: ReplayedQueue) -> str:
    words = [f"{done.replayed} replayed"]
    words += [f"{len(done.skipped)} left, because something stands in their way"] if done.skipped else []
    words += ["it stopped because the queue is full"] if done.full else []
    words += ["there are more"] if done.more and not done.full else []
    return "; ".join(words) + "."
