"""Lists of a project, each an address one can send: its filters and its place are in the query."""

from typing import cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from apps.dashboard.selectors.fleet import fleet
from apps.dashboard.views.shell import Request, as_uuid, choose, page, part, show
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
    queues = _queues(seat.project.pk)
    state = request.GET.get("state", "")
    chosen = [queue for queue in queues if str(queue.pk) == request.GET.get("queue")]
    type_asked = request.GET.get("type", "").strip() or request.GET.get("q", "").strip()
    rows = list_jobs(
        queue_ids=[queue.pk for queue in chosen or queues],
        window=Window(
            limit=PAGE + 1,
            older_than=as_uuid(request.GET.get("before", "")),
            within=Filter(
                states=[state] if state in JobState.values else None,
                types=[type_asked] if type_asked else None,
            ),
        ),
    )
    return show(
        request,
        "dashboard/jobs.html",
        seat,
        all_seats,
        jobs=rows[:PAGE],
        more=rows[PAGE - 1].id if len(rows) > PAGE else None,
        queues=queues,
        chosen=chosen[0] if chosen else None,
        states=JobState.values,
        state_asked=state,
        type_asked=type_asked,
        is_filtered=bool(chosen or state or type_asked),
    )


@require_GET
@page
def dead_letters(request: HttpRequest) -> HttpResponse:
    request = cast("Request", request)
    seat, all_seats = choose(request)
    if seat is None:
        return redirect("dashboard:home")
    queues = _queues(seat.project.pk)
    chosen = [queue for queue in queues if str(queue.pk) == request.GET.get("queue")]
    ids = [queue.pk for queue in chosen or queues]
    rows = list_dead(queue_ids=ids, limit=PAGE + 1, older_than=as_uuid(request.GET.get("before", "")))
    return show(
        request,
        "dashboard/dead_letters.html",
        seat,
        all_seats,
        dead=rows[:PAGE],
        more=rows[PAGE - 1].id if len(rows) > PAGE else None,
        queues=queues,
        chosen=chosen[0] if chosen else None,
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
