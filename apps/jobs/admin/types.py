"""Paused job types: paused by adding one, resumed by its button."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from apps.audit.admin.console import Console, actor_of
from apps.jobs import services
from apps.queues import services as queues
from apps.queues.models import PausedType


@admin.register(PausedType)
class PausedTypeConsole(Console):
    list_display = ("type", "whose", "paused_at", "paused_until", "paused_by", "pause_reason", "buttons")
    list_select_related = ("project__organization",)
    search_fields = ("type", "project__slug", "project__organization__slug")
    ordering = ("project__organization__name", "project__name", "type")
    fields = ("project", "type", "pause_reason", "paused_until", "paused_at", "paused_by")
    readonly_fields = ("paused_at", "paused_by")
    autocomplete_fields = ("project",)
    actions = ("resume_all",)
    row_buttons = ("resume",)

    @display(description="Project")
    def whose(self, paused: PausedType) -> str:
        return f"{paused.project.organization.slug}/{paused.project.slug}"

    @display(description="")
    def buttons(self, paused: PausedType) -> SafeString:
        return self.forms(paused, [("resume", "Resume", "play_arrow")])

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (*self.readonly_fields, "project", "type") if obj else self.readonly_fields

    def organization_of(self, row: PausedType) -> UUID:
        return row.project.organization_id

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A pause is ended by resuming, which wakes the workers."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        paused = queues.pause_type(
            project=obj.project, type=obj.type, actor=actor_of(request), reason=obj.pause_reason, until=obj.paused_until
        )
        obj.__dict__.update(paused.__dict__)

    def resume(self, request: HttpRequest, paused: PausedType) -> str:
        services.resume_type(project=paused.project, type=paused.type, actor=actor_of(request))
        return f"{paused.type} goes on."

    @admin.action(description="Resume", permissions=["act"])
    def resume_all(self, request: HttpRequest, queryset: QuerySet[PausedType]) -> None:
        for paused in queryset:
            self.attempt(request, lambda paused=paused: self.resume(request, paused))  # type: ignore[misc]
