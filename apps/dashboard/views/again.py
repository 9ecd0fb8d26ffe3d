"""Jobs that run once more: a dead letter itself, or a copy of any job; with the payload as it was or as it was typed."""

import json
from typing import Any, NoReturn, cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST
from uuid_utils.compat import uuid7

from apps.accounts.models import Role
from apps.dashboard.selectors import job as reads
from apps.dashboard.selectors.access import job_seat
from apps.dashboard.views.jobs import verb
from apps.dashboard.views.shell import Request, actor, attempted, page
from apps.errors import BadInput
from apps.jobs import services
from apps.jobs.models import Job
from apps.jobs.services.check import KEPT


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
