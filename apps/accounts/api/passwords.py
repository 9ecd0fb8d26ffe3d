"""Passwords are hashed few at a time, and not for those who keep guessing or keep registering."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from axes.utils import reset
from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_login_failed
from rest_framework.request import Request

from apps.accounts.api.authentication import address_of
from apps.accounts.models import User
from apps.accounts.selectors.failures import cool_off, failures_from, registrations_from
from apps.accounts.services.factors import second_factor_fits
from apps.errors import NotAuthenticated, TooManyRequests, Unavailable

AT_ONCE = 4  # each takes 100 MB and a core for a moment
PATIENCE = 5.0  # seconds
REGISTRATIONS_MAX = 50
FAILURES_MAX = 100  # of one address over all accounts; of one account there, AXES_FAILURE_LIMIT
_slots = BoundedSemaphore(AT_ONCE)


def authenticated(request: Request, *, email: str, password: str, code: str | None = None) -> User:
    """The user whose password this is. Raises NotAuthenticated, or TooManyRequests while locked out.

    With a `code`, their second factor is asked for too if they have one; a wrong one counts like a wrong password.
    """
    http, email, address = request._request, email.strip().lower(), address_of(request)
    if failures_from(address) >= FAILURES_MAX:
        raise _locked("Too many failed log-ins; wait and try again.")
    with hashing():
        user = authenticate(http, username=email, password=password)
    if getattr(http, "axes_locked_out", False):
        http.axes_locked_out = False  # type: ignore[attr-defined]  # or its middleware would answer instead
        raise _locked("Too many failed log-ins; wait and try again.")
    if not isinstance(user, User):
        raise NotAuthenticated("Wrong address or password.")
    if code is not None and not second_factor_fits(user, code):
        if not code:
            raise SecondFactorRequired
        user_login_failed.send(sender=__name__, credentials={"username": email}, request=http)
        raise NotAuthenticated("Wrong code.")
    reset(ip=address, username=email)
    return user


class SecondFactorRequired(NotAuthenticated):
    """Send the code of the second factor along."""

    code = "second_factor_required"


@contextmanager
def hashing() -> Iterator[None]:
    """Wait for a turn; Unavailable when none comes."""
    if not _slots.acquire(timeout=PATIENCE):
        raise Unavailable("Too many log in at once; try again.", retry_after=1)
    try:
        yield
    finally:
        _slots.release()


def refuse_flood(request: Request) -> None:
    """Let one address make only so many accounts in a while."""
    if registrations_from(address_of(request)) >= REGISTRATIONS_MAX:
        raise _locked("Too many accounts were made from this address; wait and try again.")


def _locked(why: str) -> TooManyRequests:
    return TooManyRequests(why, retry_after=int(cool_off().total_seconds()))
