"""What the packages that let people in keep of them. Their own pages are not taken (config/console.py)."""

from typing import Any, cast

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from unfold.decorators import display

from apps.accounts.admin.powers import PowersConsole, outranks
from apps.accounts.models import User
from apps.accounts.selectors.sessions import SessionStore
from apps.audit.admin.console import Console, Window


class Deletable(Window):
    """To be looked at, and to be ended; what belongs to somebody with more power only by a superuser."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        owner = getattr(obj, "user", None)
        above = owner is not None and outranks(owner, request)
        return super(Window, self).has_delete_permission(request, obj) and not above


@admin.register(Group)
class GroupConsole(PowersConsole):
    """What staff of one kind may do: a superuser says so, or staff would give themselves what they lack."""

    list_display = ("name",)
    search_fields = ("name",)
    ordering = ("name",)
    filter_horizontal = ("permissions",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return cast("User", request.user).is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return cast("User", request.user).is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return cast("User", request.user).is_superuser

    def powers(self, row: Group) -> dict[str, list[str]]:
        return {"permissions": sorted(row.permissions.values_list("codename", flat=True))}


@admin.register(EmailAddress)
class EmailConsole(Console):
    """Whether an address has been confirmed."""

    list_display = ("email", "user", "primary", "verified")
    list_select_related = ("user",)
    list_filter = ("verified",)
    search_fields = ("email",)
    ordering = ("email",)
    fields = ("user", "email", "primary", "verified")
    readonly_fields = ("user", "email", "primary")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Authenticator)
class AuthenticatorConsole(Deletable):
    """Second factors: for somebody who has lost theirs it is deleted here."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("user__email",)
    ordering = ("user__email", "type")
    fields = list_display
    readonly_fields = fields


@admin.register(UserSession)
class SessionConsole(Deletable):
    """Who is logged in where; deleting a row ends it."""

    list_display = ("user", "ip", "browser", "created_at", "last_seen_at")
    list_select_related = ("user",)
    search_fields = ("user__email",)
    ordering = ("-last_seen_at",)
    fields = list_display
    readonly_fields = fields

    @display(description="Browser")
    def browser(self, row: UserSession) -> str:
        return str(row.user_agent)[:80]

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        SessionStore().delete(obj.session_key)
        super().delete_model(request, obj)


@admin.register(AccessAttempt)
class AttemptConsole(Deletable):
    """Failed log-ins that are held against somebody; deleting a row lets them try again."""

    list_display = ("username", "ip_address", "failures_since_start", "attempt_time")
    search_fields = ("username", "ip_address")
    ordering = ("-attempt_time",)
    fields = list_display
    readonly_fields = fields


@admin.register(AccessLog)
class AccessConsole(Window):
    list_display = ("username", "ip_address", "attempt_time", "logout_time")
    search_fields = ("username", "ip_address")
    ordering = ("-attempt_time",)
    fields = list_display
    readonly_fields = fields


@admin.register(AccessFailureLog)
class FailureConsole(Window):
    list_display = ("username", "ip_address", "attempt_time", "locked_out")
    search_fields = ("username", "ip_address")
    ordering = ("-attempt_time",)
    fields = list_display
    readonly_fields = fields
