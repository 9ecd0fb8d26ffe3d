"""Passwords are checked few at a time, and not for those who keep guessing."""

from threading import BoundedSemaphore

from axes.helpers import get_cool_off
from axes.utils import reset
from django.contrib.auth import authenticate
from rest_framework.request import Request

from apps.accounts.api.authentication import address_of
from apps.accounts.models import User
from apps.accounts.selectors.failures import failures_from
from apps.errors import NotAuthenticated, TooManyRequests, Unavailable

AT_ONCE = 4  # each takes 100 MB and a core for a moment
PATIENCE = 5.0  # seconds
FAILURES_MAX = 100  # of one address over all accounts; of one account there, AXES_FAILURE_LIMIT
_slots = BoundedSemaphore(AT_ONCE)


def authenticated(request: Request, *, email: str, password: str) -> User:
    """The user whose password this is. Raises NotAuthenticated, or TooManyRequests while locked out."""
    http, email, address = request._request, email.strip().lower(), address_of(request)
    if failures_from(address) >= FAILURES_MAX:
        raise _locked()
    if not _slots.acquire(timeout=PATIENCE):
        raise Unavailable("Too many log in at once; try again.", retry_after=1)
    try:
        user = authenticate(http, username=email, password=password)
    finally:
        _slots.release()
    if getattr(http, "axes_locked_out", False):
        http.axes_locked_out = False  # type: ignore[attr-defined]  # or its middleware would answer instead
        raise _locked()
    if not isinstance(user, User):
        raise NotAuthenticated("Wrong address or password.")
    reset(ip=address, username=email)
    return user


def _locked() -> TooManyRequests:
    cool_off = get_cool_off()
    wait = int(cool_off.total_seconds()) if cool_off else 900
    return TooManyRequests("Too many failed log-ins; wait and try again.", retry_after=wait)
