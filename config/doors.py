"""What happens at the pages' doors, written down: allauth changes passwords and lets people in by itself."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from django.db import transaction
from django.http import HttpRequest

from apps.accounts.api.authentication import address_of
from apps.accounts.services import people
from apps.audit.record import Actor


class Door(DefaultAccountAdapter):  # type: ignore[misc]  # the package has no types
    def get_client_ip(self, request: HttpRequest) -> str:
        """As TRUSTED_PROXIES says, for everybody alike."""
        return address_of(request) or super().get_client_ip(request)

    def set_password(self, user: Any, password: str) -> None:
        """A new password ends the login tokens of the old one, whichever door it came by."""
        with transaction.atomic():
            super().set_password(user, password)
            people.end_logins(user=user, actor=_actor(user, context.request))

    def login(self, request: HttpRequest, user: Any) -> None:
        super().login(request, user)
        people.note(user=user, actor=_actor(user, request), action="user.login")


def _actor(user: Any, request: HttpRequest) -> Actor:
    request_id = request.META.get("HTTP_X_REQUEST_ID", "")
    return Actor(name=user.email, user_id=user.pk, address=address_of(request), request_id=request_id)
