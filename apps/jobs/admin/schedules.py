"""Schedules: changed by the service, paused, resumed and run by buttons, with the last ticks below."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from unfold.decorators import display

from apps.audit.admin.console import Console, actor_of
from apps.jobs import services
from apps.jobs.models import Schedule

SEEN = ("next_run_at", "last_job_id", "trouble", "paused_at", "paused_by", "pause_reason", "created_at")
LISTED = 50  # ticks below the form


@admin.register(Schedule)
class ScheduleConsole(Console):
    list_display = ("name", "whose", "cron_expr", "timezone", "job_type", "state", "next_run_at", "buttons")
    list_select_related = ("queue__project__organization",)
    search_fields = ("name", "job_type", "queue__name", "queue__project__slug", "queue__project__organization__slug")
    ordering = ("queue__project__organization__name", "queue__project__name", "name")
    actions = ("pause_all", "resume_all", "run_all")
    row_buttons = ("pause", "resume", "run")
    readonly_fields = SEEN
    autocomplete_fields = ("queue",)
    fieldsets = (
        (None, {"fields": ("queue", "name", "cron_expr", "timezone")}),
        ("Its jobs", {"fields": ("job_type", "payload", "priority")}),
        (
            "In between",
            {"fields": ("overlap_policy", "catchup_policy", "catchup_max", "jitter_seconds", "deadline_seconds")},
        ),
        ("Now", {"fields": SEEN}),
    )

    change_form_after_template: Any = "admin/jobs/ticks.html"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """With the last ticks of its ledger."""
        row = self.get_object(request, object_id)
        ticks = row.ticks.order_by("-scheduled_for")[:LISTED] if row else ()
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "ticks": ticks})

    @display(description="Queue")
    def whose(self, schedule: Schedule) -> str:
        project = schedule.queue.project
        return f"{project.organization.slug}/{project.slug}/{schedule.queue.name}"

    @display(description="State", label={"active": "success", "paused": "warning", "in trouble": "danger"})
    def state(self, schedule: Schedule) -> str:
        return "paused" if schedule.paused_at else "in trouble" if schedule.trouble else "active"

    @display(description="")
    def buttons(self, schedule: Schedule) -> SafeString:
        halted = schedule.paused_at or schedule.trouble
        switch = ("resume", "Resume", "play_arrow") if halted else ("pause", "Pause", "pause")
        return self.forms(schedule, [switch, ("run", "Run now", "bolt")])

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (*SEEN, "queue") if obj else SEEN

    def organization_of(self, row: Schedule) -> UUID:
        return row.queue.project.organization_id

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        fields = {name: form.cleaned_data[name] for name in form.changed_data}
        if change:
            services.update_schedule(schedule=obj, actor=actor_of(request), **fields)
        else:
            obj.__dict__.update(services.create_schedule(actor=actor_of(request), **fields).__dict__)

    def delete_model(self, request: HttpRequest, obj: Schedule) -> None:
        services.delete_schedule(schedule=obj, actor=actor_of(request))

    def pause(self, request: HttpRequest, schedule: Schedule) -> str:
        services.pause_schedule(schedule=schedule, actor=actor_of(request))
        return f"{schedule.name} is paused; its jobs go on."

    def resume(self, request: HttpRequest, schedule: Schedule) -> str:
        resumed = services.resume_schedule(schedule=schedule, actor=actor_of(request))
        return f"{schedule.name} fires next at {resumed.next_run_at:%F %T} UTC."

    def run(self, request: HttpRequest, schedule: Schedule) -> str:
        ran = services.run_schedule(schedule=schedule, actor=actor_of(request))
        return f"{schedule.name} made the job {ran.last_job_id}."

    @admin.action(description="Pause", permissions=["act"])
    def pause_all(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        self._each(request, queryset, self.pause)

    @admin.action(description="Resume", permissions=["act"])
    def resume_all(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        self._each(request, queryset, self.resume)

    @admin.action(description="Run now", permissions=["act"])
    def run_all(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        self._each(request, queryset, self.run)

    def _each(
        self, request: HttpRequest, chosen: QuerySet[Schedule], act: Callable[[HttpRequest, Schedule], str]
    ) -> None:
        for one in chosen:
            self.attempt(request, lambda one=one: act(request, one))  # type: ignore[misc]
