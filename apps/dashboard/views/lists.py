"""Lists of a project, each an address one can send: its filters and its place are in the query."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from apps.dashboard.selectors.fleet import fleet
from apps.dashboard.views.shell import Request, as_uuid, choose, clean, page, part, show
from apps.jobs.engine.list_dead import list_dead
from apps.jobs.engine.list_jobs import Filter, Window, list_jobs
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
    rows = list_jobs(
        queue_ids=[queue.pk for queue in asked["chosen"] or asked["queues"]],
        window=Window(
            limit=PAGE + 1,
            older_than=as_uuid(request.GET.get("before", "")),
            within=Filter(
                states=[asked["state"]] if asked["state"] else None,
                types=[asked["type"]] if asked["type"] else None,
            ),
        ),
    )
    return show(request, "dashboard/jobs.html", seat, all_seats, jobs=rows[:PAGE], more=_more(rows), **asked)


def _asked(request: Request, queues: list[Queue]) -> dict[str, Any]:
    """What the address asks for; what it cannot mean is left out."""
    state = request.GET.get("state", "")
    return {
        "queues": queues,
        "chosen": [queue for queue in queues if str(queue.pk) == request.GET.get("queue")],
        "states": JobState.values,
        "state": state if state in JobState.values else "",
        "type": clean(request.GET.get("type") or request.GET.get("q", "")),
    }


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
    chosen = _asked(request, queues)["chosen"]
    ids = [queue.pk for queue in chosen or queues]
    rows = list_dead(queue_ids=ids, limit=PAGE + 1, older_than=as_uuid(request.GET.get("before", "")))
    return show(
        request,
        "dashboard/dead_letters.html",
        seat,
        all_seats,
        dead=rows[:PAGE],
        more=_more(rows),
        queues=queues,
        chosen=chosen,
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


def _queues(project_id: UUID) -> list[Queue]:
    return list(Queue.objects.filter(project_id=project_id).order_by("name"))
