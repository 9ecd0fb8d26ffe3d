"""What a person does to a waiting job's place, and to the types of a project."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from apps.accounts.models import Project, Role
from apps.dashboard.selectors.access import queue_seat
from apps.dashboard.views.jobs import verb
from apps.dashboard.views.shell import Request, actor, attempted, back, clean, page
from apps.errors import BadInput
from apps.jobs import services
from apps.jobs.engine.move import PLACES
from apps.queues import services as queues
from apps.queues.services.types import LONGEST

MINUTES_MAX = 10 * 365 * 24 * 60
REASON_MAX = 255


def number(request: HttpRequest, name: str, least: int, most: int) -> int:
    """A whole number of a form; BadInput says what would have been one."""
    text = request.POST.get(name, "")
    if not text.removeprefix("-").isdecimal() or len(text) > 9 or not least <= int(text) <= most:
        raise BadInput(f"Give a whole number between {least} and {most}.")
    return int(text)


def reason(request: HttpRequest) -> str:
    return clean(request.POST.get("reason", ""))[:REASON_MAX]


def until(request: HttpRequest) -> datetime | None:
    """The end of a pause: a moment in UTC, as the form says."""
    text = clean(request.POST.get("until", ""))
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise BadInput("This is no time.") from None


def place(request: HttpRequest) -> str:
    """Where to move something in line."""
    to = request.POST.get("to", "")
    if to not in PLACES:
        raise BadInput(f"Move it {', '.join(PLACES)}.")
    return to


pause = verb(
    lambda request, one: services.pause_job(job_id=one.pk, actor=actor(request), reason=reason(request)),
    "Paused: it waits until it is resumed.",
)
resume = verb(
    lambda request, one: services.resume_job(job_id=one.pk, actor=actor(request)),
    "Resumed, with the place it had.",
)
move = verb(
    lambda request, one: services.move(job_id=one.pk, actor=actor(request), to=place(request)),
    "Moved.",
)
run_next = verb(
    lambda request, one: services.run_next(job_id=one.pk, actor=actor(request)),
    "It is the next job of its queue.",
)
priority = verb(
    lambda request, one: services.set_priority(
        job_id=one.pk, actor=actor(request), priority=number(request, "priority", -1000, 1000)
    ),
    "Its priority was changed.",
)
reschedule = verb(
    lambda request, one: services.reschedule(
        job_id=one.pk, actor=actor(request), delay_seconds=60 * number(request, "minutes", 0, MINUTES_MAX)
    ),
    "Its time was changed.",
)

reassign = verb(
    lambda request, one: services.reassign(
        job_id=one.pk, actor=actor(request), worker=clean(request.POST.get("worker", "")) or None
    ),
    "It waits for another worker.",
)


def _of_type(act: Callable[[Request, Project, str], object], done: str) -> Callable[..., HttpResponse]:
    """A POST by a member that does one thing to a type in every queue of the project, from the page of one."""

    @require_POST
    @page
    def view(request: HttpRequest, queue_id: UUID) -> HttpResponse:
        request = cast("Request", request)
        one, seat = queue_seat(request.user, queue_id)
        seat.demand(Role.MEMBER)
        kind = clean(request.POST.get("type", ""))[: LONGEST + 1]
        said = done.format(type=kind, project=one.project.name)
        attempted(request, lambda: act(request, one.project, kind), said)
        return redirect(back(request, reverse("dashboard:queue", args=[queue_id])))

    return view


pause_type = _of_type(
    lambda request, project, kind: queues.pause_type(
        project=project, type=kind, actor=actor(request), reason=reason(request), until=until(request)
    ),
    "{type} is paused in every queue of {project}; what runs goes on to its end.",
)
resume_type = _of_type(
    lambda request, project, kind: services.resume_type(project=project, type=kind, actor=actor(request)),
    "{type} goes on.",
)
