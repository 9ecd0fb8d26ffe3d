"""A worker and a workflow are let go of each other."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from apps.accounts.models import Role
from apps.dashboard.selectors.reserved import reservation_seat
from apps.dashboard.views.shell import Request, actor, attempted, back, page
from apps.jobs import services
from apps.workers.models import ReservationState

ENDED = "Released: the worker is free, and the workflow may run on any."
DRAINS = "The worker is free as soon as what runs there has ended; what waits may run on any."


@require_POST
@page
def release(request: HttpRequest, reservation_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = reservation_seat(request.user, reservation_id)
    seat.demand(Role.ADMIN)

    def act() -> None:
        ended = services.end_reservation(reservation_id=one.pk, actor=actor(request))
        messages.success(request, ENDED if ended.state == ReservationState.RELEASED else DRAINS)

    attempted(request, act)
    return redirect(back(request, reverse("dashboard:workflow", args=[one.workflow_id])))
