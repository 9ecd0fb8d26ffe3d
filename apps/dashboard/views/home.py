"""The first page: what waits, what runs, what is wrong, what moved last."""

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from apps.dashboard.selectors.activity import latest, rows
from apps.dashboard.selectors.overview import overview
from apps.dashboard.views.shell import Request, as_uuid, choose, page, part, show


@require_GET
@page
def home(request: HttpRequest) -> HttpResponse:
    request = cast("Request", request)
    seat, all_seats = choose(request)
    if seat is None:
        return show(request, "dashboard/nothing.html", None, all_seats)
    seen = overview(seat.project)
    if part(request) == "glance":
        return show(request, "dashboard/parts/glance.html", seat, all_seats, seen=seen)
    return show(request, "dashboard/home.html", seat, all_seats, seen=seen, activity=latest(seat.project))


@require_GET
@page
def moved(request: HttpRequest) -> HttpResponse:
    """Rows of the jobs that the stream named, as they are now."""
    request = cast("Request", request)
    seat, all_seats = choose(request)
    ids = [pk for text in request.GET.getlist("id") if (pk := as_uuid(text))]
    jobs = rows(seat.project, ids) if seat else []
    return show(request, "dashboard/parts/moves.html", seat, all_seats, jobs=jobs)
