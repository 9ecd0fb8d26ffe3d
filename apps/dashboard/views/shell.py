"""What all pages share: who asks, from which project, and the answer around the content."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from apps.accounts.api.authentication import address_of
from apps.accounts.models import Role, User
from apps.audit.record import Actor
from apps.dashboard.selectors.access import Seat, seats
from apps.errors import Forbidden, NotFound, Refusal

SHELLS = frozenset({"project"})  # what `choose` reads
REMEMBERED = "project"  # session key: the project looked at last
View = Callable[..., HttpResponse]


class Request(HttpRequest):
    user: User


def page(view: View) -> View:
    """For people who are logged in; refusals become answers, and nothing of a tenant's is kept by caches."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = view(request, *args, **kwargs)
        except NotFound:
            raise Http404 from None
        except Forbidden as refusal:
            raise PermissionDenied(str(refusal)) from None
        patch_cache_control(response, private=True, no_store=True)
        return response

    return cast("View", login_required(answer))


def choose(request: Request) -> tuple[Seat | None, list[Seat]]:
    """The project named by the address, else the one looked at last, else the first; and all others.

    Raises NotFound for a project that is not theirs. No seat: they are in no project yet.
    """
    all_seats = seats(request.user)
    by_id = {str(one.project.pk): one for one in all_seats}
    named = request.GET.get("project")
    if named is not None:
        if named not in by_id:
            raise NotFound
        if request.session.get(REMEMBERED) != named:
            request.session[REMEMBERED] = named
        return by_id[named], all_seats
    remembered = by_id.get(request.session.get(REMEMBERED, ""))
    return remembered or next(iter(all_seats), None), all_seats


def show(
    request: Request,
    template: str,
    seat: Seat | None,
    all_seats: list[Seat] | None = None,
    understood: Mapping[str, object] | None = None,
    **context: Any,
) -> HttpResponse:
    """Render inside the frame: the switcher and the navigation of this seat.

    `understood` is what the view made of the address, by name; whatever else the address asks for is told as left out.
    """
    shell = {
        "seat": seat,
        "seats": seats(request.user) if all_seats is None else all_seats,
        "left_out": _left_out(request, understood or {}),
    }
    return render(request, template, shell | context)


def _left_out(request: Request, understood: Mapping[str, object]) -> list[str]:
    """A filter that is misspelt would show everything, and look as if it had been heeded."""
    return [
        f"{name}={text}"
        for name, texts in request.GET.lists()
        for text in texts
        if text.strip() and name not in SHELLS and not understood.get(name)
    ]


def part(request: HttpRequest) -> str:
    """Which part of a page htmx asks for anew; empty for the whole page."""
    return request.headers.get("HX-Target", "") if request.headers.get("HX-Request") else ""


def actor(request: Request) -> Actor:
    return Actor(
        name=request.user.email,
        user_id=request.user.pk,
        address=address_of(request),
        request_id=request.headers.get("X-Request-Id", ""),
    )


def attempted(request: Request, act: Callable[[], object], done: str = "") -> None:
    """Do it and say so, where it does not itself; a refusal says why not."""
    try:
        act()
    except (NotFound, Forbidden):
        raise
    except Refusal as refusal:
        messages.error(request, str(refusal))
    else:
        if done:
            messages.success(request, done)


def verb_of[Row](
    seat_of: Callable[[User, UUID], tuple[Row, Seat]], name: str
) -> Callable[[Callable[[Request, Row], object], str], View]:
    """Verbs of what `seat_of` finds: POSTs by a member that do one thing to it and show its page again."""

    def verb(act: Callable[[Request, Row], object], done: str) -> View:
        @require_POST
        @page
        def view(request: HttpRequest, **key: UUID) -> HttpResponse:
            request = cast("Request", request)
            one, seat = seat_of(request.user, *key.values())
            seat.demand(Role.MEMBER)
            attempted(request, lambda: act(request, one), done.format(one=one))
            return redirect(back(request, reverse(f"dashboard:{name}", kwargs=key)))

        return view

    return verb


def back(request: HttpRequest, fallback: str) -> str:
    """Where the form stood, if that is one of our own pages."""
    asked = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(asked, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return asked if ours else fallback


def clean(text: str) -> str:
    """What was typed, without what PostgreSQL has no place for."""
    return text.replace("\0", "").strip()


def as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
