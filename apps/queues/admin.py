"""Retry policies. Queues are in apps/dashboard/admin.py, for their page counts jobs."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest
from unfold.decorators import display

from apps.audit.admin.console import Console, actor_of
from apps.queues import services
from apps.queues.models import RetryPolicy


@admin.register(RetryPolicy)
class RetryPolicyConsole(Console):
    list_display = ("name", "whose", "kind", "max_attempts", "max_losses", "base_delay_ms", "max_delay_ms", "jitter")
    list_select_related = ("project__organization",)
    list_filter = ("kind",)
    search_fields = ("name", "project__slug", "project__organization__slug")
    ordering = ("project__organization__name", "project__name", "name")
    fields = (
        "project",
        "name",
        "kind",
        "max_attempts",
        "max_losses",
        "base_delay_ms",
        "max_delay_ms",
        "jitter",
        "intervals_ms",
        "created_at",
    )
    readonly_fields = ("created_at",)
    autocomplete_fields = ("project",)

    @display(description="Project")
    def whose(self, policy: RetryPolicy) -> str:
        return f"{policy.project.organization.slug}/{policy.project.slug}"

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (*self.readonly_fields, "project") if obj else self.readonly_fields

    def organization_of(self, row: RetryPolicy) -> UUID:
        return row.project.organization_id

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        fields = {name: form.cleaned_data[name] for name in form.changed_data}
        if change:
            services.update_policy(policy=obj, actor=actor_of(request), **fields)
        else:
            obj.__dict__.update(services.create_policy(actor=actor_of(request), **fields).__dict__)

    def delete_model(self, request: HttpRequest, obj: RetryPolicy) -> None:
        services.delete_policy(policy=obj, actor=actor_of(request))
