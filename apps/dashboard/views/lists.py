"""Lists of a project, each an address one can send: its filters and its place are in the query."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.timezone import now
from django.views.decorators.http import require_GET

from apps.dashboard.engine.search_jobs import search_jobs
from apps.dashboard.selectors.fleet import fleet
from apps.dashboard.selectors.job import several
from apps.dashboard.views.replay_many import Rest
from apps.dashboard.views.shell import Request, as_uuid, choose, clean, page, part, show
from apps.jobs.engine.list_dead import list_dead
from apps.jobs.engine.list_jobs import Window, list_jobs
from apps.jobs.selectors.line import operators_line
from apps.jobs.states import JobState
from apps.queues.models import Queue

PAGE = 50


@require_GET
@page
def jobs(request: HttpRequest) -> HttpResponse:
    request = cast("Request", request)
    if found := as_uuid(request.GET.get("q", "").strip()):
        return redirect("dashboard:job", found)
    seat, all_seats = choose(request)
    if seat is None:
        return redirect("dashboard:home")
    asked = _asked(request, _queues(seat.project.pk))
    read = _searched if asked["state"] or asked["type"] else _listed
    understood = {**_understood(request, asked), "state": asked["state"], "type": asked["type"], "q": asked["type"]}
    return show(request, "dashboard/jobs.html", seat, all_seats, understood, **asked, **read(request, asked))


def _listed(request: Request, asked: dict[str, Any]) -> dict[str, Any]:
    """The newest of all."""
    window = Window(limit=PAGE + 1, older_than=as_uuid(request.GET.get("before", "")))
    rows = list_jobs(queue_ids=asked["queue_ids"], window=window)
    return {"jobs": rows[:PAGE], "more": _more(rows)}


def _searched(request: Request, asked: dict[str, Any]) -> dict[str, Any]:
    """Those that fit, looked for a bounded number of jobs back."""
    found = search_jobs(
        queue_ids=asked["queue_ids"],
        state=asked["state"] or None,
        type=asked["type"] or None,
        below=as_uuid(request.GET.get("before", "")),
        limit=PAGE,
    )
    since = now() - timedelta(days=settings.RETENTION_JOBS_DAYS)
    return {"jobs": several(found.ids, since=since), "more": found.edge, "back_to": found.back_to}


def _asked(request: Request, queues: list[Queue]) -> dict[str, Any]:
    """What the address asks for; what it cannot mean is left out."""
    state = request.GET.get("state", "")
    chosen = [queue for queue in queues if str(queue.pk) == request.GET.get("queue")]
    return {
        "queues": queues,
        "chosen": chosen,
        "queue_ids": [queue.pk for queue in chosen or queues],
        "states": JobState.values,
        "state": state if state in JobState.values else "",
        "type": clean(request.GET.get("type") or request.GET.get("q", "")),
    }


def _understood(request: Request, asked: dict[str, Any]) -> dict[str, object]:
    """What both lists read of the address."""
    return {"queue": asked["chosen"], "before": as_uuid(request.GET.get("before", ""))}


def _more(rows: Sequence[Any]) -> UUID | None:
    """Where the next page begins, if there is one."""
    return rows[PAGE - 1].id if len(rows) > PAGE else None


@require_GET
@page
def dead_letters(request: HttpRequest) -> HttpResponse:
    request = cast("Request", request)
    seat, all_seats = choose(request)
    if seat is None:
        return redirect("dashboard:home")
    queues = _queues(seat.project.pk)
    asked = _asked(request, queues)
    rows = list_dead(queue_ids=asked["queue_ids"], limit=PAGE + 1, older_than=as_uuid(request.GET.get("before", "")))
    return show(
        request,
        "dashboard/dead_letters.html",
        seat,
        all_seats,
        _understood(request, asked),
        dead=rows[:PAGE],
        more=_more(rows),
        queues=queues,
        chosen=asked["chosen"],
        rest=Rest.of(request.GET) if asked["chosen"] else None,
    )


@require_GET
@page
def workers(request: HttpRequest) -> HttpResponse:
    request = cast("Request", request)
    seat, all_seats = choose(request)
    if seat is None:
        return redirect("dashboard:home")
    seen = fleet(project=seat.project, queues=_queues(seat.project.pk))
    template = "dashboard/parts/workers.html" if part(request) == "workers" else "dashboard/workers.html"
    return show(request, template, seat, all_seats, fleet=seen)


@require_GET
@page
def line(request: HttpRequest) -> HttpResponse:
    request = cast("Request", request)
    seat, all_seats = choose(request)
    if seat is None:
        return redirect("dashboard:home")
    seen = operators_line(project=seat.project, queue_ids=[queue.pk for queue in _queues(seat.project.pk)])
    template = "dashboard/parts/line.html" if part(request) == "line" else "dashboard/line.html"
    return show(request, template, seat, all_seats, line=seen)


def _queues(project_id: UUID) -> list[Queue]:
    return list(Queue.objects.filter(project_id=project_id).order_by("name"))
