"""The schedules of a project, one of them, and its switches."""

from datetime import UTC, datetime
from typing import cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.timezone import now
from django.views.decorators.http import require_GET

from apps.dashboard.selectors import schedules as reads
from apps.dashboard.views.order import reason
from apps.dashboard.views.shell import Request, actor, as_uuid, choose, page, part, show, verb_of
from apps.jobs import cron, services
from apps.jobs.selectors.schedules import preview

PAGE, COMING = 50, 10


@require_GET
@page
def schedules(request: HttpRequest) -> HttpResponse:
    request = cast("Request", request)
    seat, all_seats = choose(request)
    if seat is None:
        return redirect("dashboard:home")
    before = as_uuid(request.GET.get("before", ""))
    rows = reads.schedules(seat.project, before=before, limit=PAGE + 1)
    more = rows[PAGE - 1].pk if len(rows) > PAGE else None
    shown = rows[:PAGE]
    return show(request, "dashboard/schedules.html", seat, all_seats, {"before": before}, schedules=shown, more=more)


@require_GET
@page
def schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = reads.schedule_seat(request.user, schedule_id)
    before = _moment(request.GET.get("before", ""))
    ticks = reads.ledger(one, before=before, limit=PAGE + 1)
    more = ticks[PAGE - 1].scheduled_for.isoformat() if len(ticks) > PAGE else None
    return show(
        request,
        "dashboard/parts/schedule.html" if part(request) == "schedule" else "dashboard/schedule.html",
        seat,
        understood={"before": before},
        schedule=one,
        ticks=ticks[:PAGE],
        more=more,
        coming=preview(one, after=now(), count=COMING, viewer=cron.zone("UTC")),
        payload=reads.payload(one) if seat.sees_payloads_of(one.queue) else None,
    )


def _moment(text: str) -> datetime | None:
    """Where a page of the ledger begins; nonsense begins at the top."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None


_verb = verb_of(reads.schedule_seat, "schedule")

pause = _verb(
    lambda request, one: services.pause_schedule(schedule=one, actor=actor(request), reason=reason(request)),
    "{one.name} is paused: none of its ticks fires until it is resumed.",
)
resume = _verb(
    lambda request, one: services.resume_schedule(schedule=one, actor=actor(request)),
    "{one.name} goes on with its next tick.",
)
run = _verb(
    lambda request, one: services.run_schedule(schedule=one, actor=actor(request)),
    "{one.name} made a job.",
)
