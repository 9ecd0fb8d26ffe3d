"""Many dead letters of a queue are replayed, as many as one request can; the page of what is left offers to go on."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.timezone import now
from django.views.decorators.http import require_POST

from apps.accounts.models import Role
from apps.dashboard.selectors.access import queue_seat
from apps.dashboard.views.order import MINUTES_MAX, number
from apps.dashboard.views.shell import Request, actor, as_uuid, attempted, back, clean, page
from apps.errors import BadInput
from apps.jobs import services
from apps.jobs.services.replay_many import ReplayedQueue

MANY, MANY_UNSAID = 1_000_000, 100


@dataclass(frozen=True, slots=True)
class Rest:
    """What a replay has come to, and was asked for: the fields of the form that goes on. All as they were typed."""

    after: str
    due: str
    limit: str
    rate: str
    error_class: str

    @classmethod
    def of(cls, query: QueryDict) -> "Rest | None":
        """Read the address of a page; None where nothing is to go on."""
        rest = cls(*(clean(query.get(name, "")) for name in cls.__slots__))
        return rest if as_uuid(rest.after) else None

    @property
    def fields(self) -> Iterator[tuple[str, str]]:
        return ((name, getattr(self, name)) for name in self.__slots__)


@require_POST
@page
def replay_queue(request: HttpRequest, queue_id: UUID) -> HttpResponse:
    """The oldest dead letters of a queue, as many and as fast as was asked for; no limit is all of them."""
    request = cast("Request", request)
    one, seat = queue_seat(request.user, queue_id)
    seat.demand(Role.MEMBER)
    told: list[ReplayedQueue] = []
    attempted(
        request,
        lambda: told.append(
            services.replay_all(
                queue=one,
                actor=actor(request),
                limit=_limit(request),
                rate_per_second=_rate(request),
                error_class=clean(request.POST.get("error_class", "")) or None,
                after=as_uuid(request.POST.get("after", "")),
                due=_due(request),
            )
        ),
    )
    for done in told:
        messages.success(request, _said(done))
        if rest := _rest(request, done):
            place = {"project": one.project_id, "queue": one.pk}
            return redirect(f"{reverse('dashboard:dead_letters')}?{urlencode({**place, **dict(rest.fields)})}")
    return redirect(back(request, reverse("dashboard:queue", args=[queue_id])))


def _rest(request: Request, done: ReplayedQueue) -> Rest | None:
    """What is still to be done of what was asked for."""
    limit = _limit(request)
    if not done.more or done.upto is None or limit == done.replayed:
        return None
    return Rest(
        after=str(done.upto),
        due=done.due.isoformat() if done.due else "",
        limit=str(limit - done.replayed) if limit else "",
        rate=request.POST.get("rate", ""),
        error_class=request.POST.get("error_class", ""),
    )


def _limit(request: Request) -> int | None:
    typed = request.POST.get("limit")
    if typed is None:
        return MANY_UNSAID
    return number(request, "limit", 1, MANY) if typed.strip() else None


def _rate(request: Request) -> float | None:
    typed = request.POST.get("rate", "").strip()
    try:
        return float(typed) if typed else None
    except ValueError:
        raise BadInput("Give a number of jobs a second.") from None


def _due(request: Request) -> datetime | None:
    """When the next one may come, as this page has said before."""
    typed = request.POST.get("due", "")
    try:
        due = datetime.fromisoformat(typed) if typed else None
        if due and due > now() + timedelta(minutes=MINUTES_MAX):
            raise ValueError
    except (ValueError, TypeError):
        raise BadInput("This is no time.") from None
    return due


def _said(done: ReplayedQueue) -> str:
    words = [f"{done.replayed:,} replayed"]
    words += [f"{len(done.skipped):,} left, because something stands in their way"] if done.skipped else []
    words += ["it stopped because the queue is full"] if done.full else []
    words += ["there are more"] if done.more and not done.full else []
    return "; ".join(words) + "."
