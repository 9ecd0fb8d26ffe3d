"""Who sends a request: a bearer token, or the session of the pages."""

import ipaddress
from typing import cast
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from apps.accounts.models import User
from apps.accounts.selectors import Caller, caller_of_token, caller_of_user
from apps.accounts.services.tokens import note_use
from apps.audit.record import Actor
from apps.errors import NotAuthenticated


class Bearer(BaseAuthentication):
    """`Authorization: Bearer fp_…`: an API token, or the token a login answered."""

    def authenticate(self, request: Request) -> tuple[User, Caller] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        caller = caller_of_token(text.strip())
        if caller is None or caller.token_id is None:
            raise NotAuthenticated("This token is unknown, revoked or expired.")
        note_use(token_id=caller.token_id, last_used_at=caller.last_used_at)
        return caller.user, caller

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="fencepost"'


class Session(SessionAuthentication):
    """The cookie of the pages; unsafe methods need the CSRF token with it."""

    def authenticate(self, request: Request) -> tuple[User, Caller] | None:
        found = super().authenticate(request)
        return (found[0], caller_of_user(found[0])) if found else None


def actor_of(request: Request) -> Actor:
    """The caller, as the audit remembers them."""
    caller = cast("Caller", request.auth)
    return Actor(
        name=caller.user.email,
        user_id=caller.user.pk,
        token_id=_named(caller),
        address=address_of(request),
        request_id=request.META["HTTP_X_REQUEST_ID"],
    )


def address_of(request: Request | HttpRequest) -> str | None:
    """The client's address, as far as the proxies in front may be believed."""
    given = [request.META.get("REMOTE_ADDR", "")]
    if settings.TRUSTED_PROXIES:
        given = [*request.META.get("HTTP_X_FORWARDED_FOR", "").split(","), *given]
    believed = given[-min(settings.TRUSTED_PROXIES + 1, len(given))]
    try:
        return str(ipaddress.ip_address(believed.strip()))
    except ValueError:
        return None


def _named(caller: Caller) -> UUID | None:
    """A login's token says no more than its user; one made on purpose does."""
    return caller.token_id if caller.is_api_token else None
