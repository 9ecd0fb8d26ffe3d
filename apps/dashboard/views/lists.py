"""Lists of a project, each an address one can send: its filters and its place are in the query."""

from typing import cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from apps.dashboard.selectors import listing
from apps.dashboard.selectors.fleet import fleet
from apps.dashboard.selectors.job import last_errors
from apps.dashboard.views.shell import Request, as_uuid, choose, page, part, show
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
    rows = listing.jobs(
        queue_ids=[queue.pk for queue in chosen or queues],
        state=state if state in JobState.values else None,
        type=request.GET.get("type", "").strip() or request.GET.get("q", "").strip() or None,
        before=as_uuid(request.GET.get("before", "")),
        limit=PAGE + 1,
    )
    return show(
        request,
        "dashboard/jobs.html",
        seat,
        all_seats,
        jobs=rows[:PAGE],
        more=rows[PAGE - 1].pk if len(rows) > PAGE else None,
        queues=queues,
        chosen=chosen[0] if chosen else None,
        states=JobState.values,
        state_asked=state,
        type_asked=request.GET.get("type", "") or request.GET.get("q", ""),
        is_filtered=bool(chosen or state or request.GET.get("type") or request.GET.get("q")),
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
    rows = listing.dead_letters(ids, PAGE + 1, before=as_uuid(request.GET.get("before", "")))
    errors = last_errors(rows[:PAGE])
    return show(
        request,
        "dashboard/dead_letters.html",
        seat,
        all_seats,
        dead=[(job, errors.get(job.pk)) for job in rows[:PAGE]],
        more=rows[PAGE - 1].pk if len(rows) > PAGE else None,
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
