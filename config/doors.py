"""What happens at the pages' doors, written down and counted as at the API's: allauth lets people in by itself."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.base import forms
from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from apps.accounts.api import passwords
from apps.accounts.api.authentication import address_of
from apps.accounts.selectors.failures import cool_off, failures_from, registrations_from
from apps.accounts.services import people
from apps.audit.record import Actor
from apps.errors import Unavailable


class Door(DefaultAccountAdapter):  # type: ignore[misc]  # the package has no types
    def get_client_ip(self, request: HttpRequest) -> str:
        """As TRUSTED_PROXIES says, for everybody alike."""
        return address_of(request) or super().get_client_ip(request)

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """One address makes only so many accounts in a while."""
        return registrations_from(address_of(request)) < passwords.REGISTRATIONS_MAX

    def save_user(self, request: HttpRequest, user: Any, *args: Any, **options: Any) -> Any:
        with transaction.atomic():
            made = super().save_user(request, user, *args, **options)
            people.note(user=made, actor=_actor(made, request), action="user.register")
        return made

    def set_password(self, user: Any, password: str) -> None:
        """A new password ends the login tokens of the old one, whichever door it came by."""
        with transaction.atomic():
            super().set_password(user, password)
            people.end_logins(user=user, actor=_actor(user, context.request))

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """What allauth counts is known to this process alone; failures that are rows are known to all."""
        if failures_from(address_of(request)) >= passwords.FAILURES_MAX:
            raise self.validation_error("too_many_login_attempts")
        super().pre_authenticate(request, **credentials)

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        try:
            with passwords.hashing():
                return super().authenticate(request, **credentials)
        except Unavailable:
            raise self.validation_error("rate_limited") from None

    def login(self, request: HttpRequest, user: Any) -> None:
        super().login(request, user)
        people.note(user=user, actor=_actor(user, request), action="user.login")


class _Counted:
    """A wrong code counts like a wrong password."""

    user: Any

    def clean_code(self) -> str:
        who = {"username": self.user.email}
        if not AxesProxyHandler.is_allowed(context.request, who):
            context.request.axes_locked_out = True  # its middleware answers
            raise ValidationError("")
        try:
            return str(super().clean_code())  # type: ignore[misc]
        except ValidationError:
            user_login_failed.send(sender=__name__, credentials=who, request=context.request)
            raise


class Code(_Counted, forms.AuthenticateForm):  # type: ignore[misc]
    """At the door."""


class CodeAgain(_Counted, forms.ReauthenticateForm):  # type: ignore[misc]
    """Inside, before what is worth asking for once more."""


def locked(request: HttpRequest, response: HttpResponse | None, credentials: Any) -> HttpResponse:
    """What a page answers while somebody is locked out (AXES_LOCKOUT_CALLABLE)."""
    wait = int(cool_off().total_seconds())
    words = f"Too many failed log-ins; try again in {wait // 60} minutes."
    return HttpResponse(words, status=429, content_type="text/plain", headers={"Retry-After": str(wait)})


def _actor(user: Any, request: HttpRequest) -> Actor:
    request_id = request.META.get("HTTP_X_REQUEST_ID", "")
    return Actor(name=user.email, user_id=user.pk, address=address_of(request), request_id=request_id)
