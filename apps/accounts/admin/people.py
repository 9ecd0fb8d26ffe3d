"""People, organizations and their tokens."""

from typing import Any, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.timezone import now
from unfold.admin import TabularInline
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from apps.accounts.admin.powers import PowersConsole, outranks
from apps.accounts.models import ApiToken, Membership, Organization, Project, Role, User
from apps.accounts.services import organizations as services
from apps.accounts.services import people, tokens
from apps.audit.admin.console import Console, Window, actor_of


@admin.register(User)
class UserConsole(PowersConsole, UserAdmin):  # type: ignore[type-arg]
    """Only a superuser says who is staff; accounts are shut, never deleted."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("email", "name", "is_active", "is_staff", "is_superuser", "last_login", "date_joined")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email", "name")
    ordering = ("email",)
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        ("May", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("When", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets: Any = ((None, {"fields": ("email", "name", "password1", "password2")}),)
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ("groups", "user_permissions")
    POWERS = ("is_staff", "is_superuser", "groups", "user_permissions")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        powers = () if cast("User", request.user).is_superuser else self.POWERS
        return (*self.readonly_fields, *powers)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Who may change people may still not take over somebody with more power."""
        return super().has_change_permission(request, obj) and not (obj is not None and outranks(obj, request))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """The sessions and login tokens of the old password end with it."""
        with transaction.atomic():
            response = super().user_change_password(request, id, form_url)
            if request.method == "POST" and response.status_code == 302:
                people.end_logins(user=User.objects.get(pk=id), actor=actor_of(request))
        return response

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        obj.email = obj.email.strip().lower()
        super().save_model(request, obj, form, change)

    def powers(self, row: User) -> dict[str, list[str]]:
        return {
            "groups": [str(group) for group in row.groups.order_by("name")],
            "permissions": sorted(row.user_permissions.values_list("codename", flat=True)),
        }


class MembersInline(TabularInline):
    model = Membership
    fields = ("user", "role", "created_at")
    readonly_fields = fields
    ordering = ("created_at", "id")
    extra = 0
    can_delete = False
    per_page: Any = 25
    show_change_link = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Organization)
class OrganizationConsole(Console):
    list_display = ("name", "slug", "people", "created_at")
    search_fields = ("name", "slug")
    ordering = ("name",)
    fields = ("name", "slug", "created_at")
    readonly_fields = ("created_at",)
    prepopulated_fields = {"slug": ("name",)}
    inlines = (MembersInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Organization]:
        rows: QuerySet[Organization] = super().get_queryset(request)
        return rows.annotate(people=Count("memberships"))

    @display(description="Members", ordering="people")
    def people(self, row: Any) -> int:
        return int(row.people)

    def organization_of(self, row: Organization) -> UUID:
        return row.pk

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """An owner deletes it, through the API."""
        return False


@admin.register(Project)
class ProjectConsole(Console):
    list_display = ("name", "slug", "organization", "hide_payloads_below", "created_at")
    list_select_related = ("organization",)
    search_fields = ("name", "slug", "organization__slug")
    ordering = ("organization__name", "name")
    fields = ("organization", "name", "slug", "hide_payloads_below", "created_at")
    readonly_fields = ("created_at",)
    autocomplete_fields = ("organization",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (*self.readonly_fields, "organization") if obj else self.readonly_fields

    def organization_of(self, row: Project) -> UUID:
        return row.organization_id

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Membership)
class MembershipConsole(Console):
    """The last owner stays one: the services see to it."""

    list_display = ("user", "organization", "role", "created_at")
    list_select_related = ("user", "organization")
    list_filter = ("role",)
    search_fields = ("user__email", "organization__slug")
    ordering = ("organization__name", "user__email")
    fields = ("user", "organization", "role")
    autocomplete_fields = ("user", "organization")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("user", "organization") if obj else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        common: dict[str, Any] = {
            "organization": obj.organization,
            "actor": actor_of(request),
            "by": Role.OWNER,
            "role": Role(obj.role),
        }
        if change:
            services.change_member(user_id=obj.user_id, **common)
        else:
            obj.__dict__.update(services.add_member(email=obj.user.email, **common).__dict__)

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        services.remove_member(
            organization=obj.organization, actor=actor_of(request), by=Role.OWNER, user_id=obj.user_id
        )


@admin.register(ApiToken)
class ApiTokenConsole(Window):
    """Told apart by their last characters; the text was shown once, to whom it was made for."""

    list_display = ("label", "kind", "user", "organization", "project", "scope_list", "state", "last_used_at")
    list_select_related = ("user", "organization", "project")
    list_filter = ("kind",)
    search_fields = ("name", "user__email", "organization__slug")
    ordering = ("-id",)
    fields = (
        "label",
        "kind",
        "user",
        "organization",
        "project",
        "scope_list",
        "state",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
    )
    readonly_fields = fields
    actions = ("revoke",)

    @display(description="Token")
    def label(self, token: ApiToken) -> str:
        return str(token)

    @display(description="Scopes")
    def scope_list(self, token: ApiToken) -> str:
        return ", ".join(token.scopes) or ("its user's rights" if token.kind == "login" else "–")

    @display(description="State", label={"valid": "success", "expired": "warning", "revoked": "danger"})
    def state(self, token: ApiToken) -> str:
        if token.revoked_at:
            return "revoked"
        return "expired" if token.expires_at and token.expires_at <= now() else "valid"

    @admin.action(description="Revoke", permissions=["act"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        for token in queryset:
            self.attempt(request, lambda token=token: tokens.revoke(token=token, actor=actor_of(request)))  # type: ignore[misc]
        self.message_user(request, "They end at once: the next request with one is refused.")
