"""What all models have in common in the admin: changes are recorded, refusals are said, nothing hot is counted."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, cast
from uuid import UUID

from allauth.account.adapter import get_adapter
from django.contrib import messages
from django.contrib.admin.options import ActionLocation
from django.core.exceptions import PermissionDenied
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold import paginator
from unfold.admin import ModelAdmin

from apps.audit.record import Actor, record
from apps.errors import Forbidden, Refusal

# Plain, in Unfold's own classes: its stylesheet is built ahead and has no others.
BUTTON = (
    '<button type="submit" formaction="{}" formnovalidate class="border border-base-200 bg-white cursor-pointer '
    "font-medium inline-flex items-center gap-1 px-2.5 py-1.5 rounded-default shadow-xs text-important "
    'dark:border-base-700 dark:bg-transparent"><span class="material-symbols-outlined" aria-hidden="true">{}</span>{}</button>'
)
SECRETS = frozenset(
    {"password", "hash", "data", "session_key", "session_hash", "get_data", "post_data"}
)  # never told to the audit


class InfinitePaginator(paginator.InfinitePaginator):
    """Pages without COUNT(*): forward and back, as far as anybody reads. Unfold's header knows it by this name."""

    @cached_property
    def count(self) -> int:
        return 10_000


def actor_of(request: HttpRequest) -> Actor:
    """The person at the console, as the audit remembers them."""
    user = cast("Any", request.user)
    return Actor(
        name=user.email,
        user_id=user.pk,
        address=get_adapter().get_client_ip(request),
        request_id=request.headers.get("X-Request-Id", ""),
    )


def told(row: models.Model) -> dict[str, Any]:
    """A row as JSON values, without its secrets."""
    fields = [field for field in row._meta.concrete_fields if field.name not in SECRETS]
    values = {field.attname: field.value_from_object(row) for field in fields}
    return cast("dict[str, Any]", json.loads(json.dumps(values, cls=DjangoJSONEncoder)))


class Console(ModelAdmin):
    """For configuration: every change is an audit entry in the same transaction."""

    list_per_page = 50
    list_disable_select_all = True  # an action is for what one sees
    list_fullwidth = True
    warn_unsaved_form = True
    row_buttons: tuple[str, ...] = ()  # methods reached by POST at <id>/<name>/

    def get_action_choices(
        self,
        request: HttpRequest,
        default_choices: Any = None,
        action_location: ActionLocation = ActionLocation.CHANGE_LIST,
    ) -> list[tuple[str, str]]:
        """Unfold's does not know where actions may stand since Django 6.1."""
        blank = [("", "Select action")]
        return super(ModelAdmin, self).get_action_choices(request, blank, action_location=action_location)

    def get_urls(self) -> list[URLPattern]:
        mine = [
            path(f"<path:object_id>/{name}/", self._button(name), name=self._name(name)) for name in self.row_buttons
        ]
        return mine + super().get_urls()

    def _button(self, name: str) -> Callable[..., HttpResponse]:
        act = getattr(self, name)

        def view(request: HttpRequest, object_id: str) -> HttpResponse:
            if not self.may_act(request):
                raise PermissionDenied
            row = self.get_object(request, object_id)
            if row is not None:
                self.attempt(request, lambda: act(request, row))
            return redirect(request.headers.get("Referer") or reverse(f"admin:{self._name('changelist')}"))

        return self.admin_site.admin_view(require_POST(view))

    def forms(self, row: Any, offers: Iterable[tuple[str, str, str]]) -> SafeString:
        """Buttons that send the form around them by POST to a view of `row_buttons`: name, words, icon."""
        return format_html_join(
            " ",
            BUTTON,
            ((reverse(f"admin:{self._name(name)}", args=[row.pk]), icon, words) for name, words, icon in offers),
        )

    def _name(self, view: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{view}"

    def may_act(self, request: HttpRequest) -> bool:
        """Buttons and actions need the right to change, also where the form itself is only a window."""
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    has_act_permission = may_act  # the name by which actions ask: permissions=["act"]

    def attempt(self, request: HttpRequest, act: Callable[[], str | None]) -> bool:
        """Do it and say what it answers, or why it was refused."""
        try:
            said = act()
        except Refusal as refusal:
            messages.error(request, str(refusal))
            return False
        if said:
            messages.success(request, said)
        return True

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._refusable(request, lambda: super(Console, self).changeform_view(request, *args, **kwargs))

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._refusable(request, lambda: super(Console, self).delete_view(request, *args, **kwargs))

    def _refusable(self, request: HttpRequest, view: Callable[[], HttpResponse]) -> HttpResponse:
        """A service may refuse what the form let through: nothing was changed then."""
        try:
            with transaction.atomic():
                return view()
        except Forbidden as refusal:
            raise PermissionDenied(str(refusal)) from None
        except Refusal as refusal:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(request.get_full_path())

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only what the list offers: by any other column of the table, a secret could be guessed letter by letter."""
        column = lookup.partition("__")[0]
        is_column = any(column in (field.name, field.attname) for field in self.opts.concrete_fields)
        is_offered = column in (getattr(one, "parameter_name", one) for one in self.get_list_filter(request))
        return (is_offered or not is_column) and super().lookup_allowed(lookup, value, request)

    # What is written down

    def organization_of(self, row: Any) -> UUID | None:
        """Whose audit trail a change belongs to."""
        return None

    def noun(self) -> str:
        return self.opts.verbose_name_raw.replace(" ", "_")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        before = told(self.model._base_manager.get(pk=obj.pk)) if change else None
        super().save_model(request, obj, form, change)
        after = told(obj)
        if before is not None:
            changed = [name for name in after if after[name] != before[name]]
            if not changed:
                return
            before, after = ({name: facts[name] for name in changed} for facts in (before, after))
        self.write(request, obj, "update" if change else "create", before=before, after=after)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        before, key, organization = told(obj), obj.pk, self.organization_of(obj)
        super().delete_model(request, obj)
        self.write(request, obj, "delete", before=before, target_id=key, organization_id=organization)

    def delete_queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> None:
        with transaction.atomic():
            for row in queryset:
                self.delete_model(request, row)

    def write(
        self,
        request: HttpRequest,
        row: Any,
        verb: str,
        *,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        **names: Any,
    ) -> None:
        """Add the audit entry `noun.verb`."""
        record(
            actor=actor_of(request),
            action=f"{self.noun()}.{verb}",
            target_type=self.noun(),
            before=before,
            after=after,
            **{"target_id": row.pk, "organization_id": self.organization_of(row)} | names,
        )

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """The audit trail is the one record; Django's own would be a second."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """See log_addition."""

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """See log_addition."""

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """What was done to this row, in the audit trail."""
        return redirect(f"{reverse('admin:audit_entry_changelist')}?{urlencode({'q': object_id})}")


class Window(Console):
    """Only for looking through: verbs and services change these rows, never a form."""

    paginator = InfinitePaginator
    show_full_result_count = False
    warn_unsaved_form = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        raise PermissionDenied
