"""Workflows and batches: windows, with their verbs as buttons and actions."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from apps.audit.admin.console import Window, actor_of
from apps.jobs import services
from apps.jobs.models import Batch, Workflow
from apps.jobs.selectors.batches import far_of
from apps.jobs.selectors.workflows import standings
from apps.jobs.states import OVER, WorkflowState

STATES: dict[str, str] = {
    WorkflowState.PENDING: "info",
    WorkflowState.RUNNING: "info",
    WorkflowState.AWAITING_APPROVAL: "warning",
    WorkflowState.PAUSED: "warning",
    WorkflowState.CANCELLING: "warning",
    WorkflowState.COMPLETED: "success",
    WorkflowState.FAILED: "danger",
}


class Groups(Window):
    """What a list says of each row is read for all of them at once."""

    def reads(self, rows: list[Any]) -> dict[Any, Any]:
        raise NotImplementedError

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        rows: list[Any] = list(changes.result_list)
        told = self.reads(rows)
        for row in rows:
            row.told = told[row.pk]
        changes.result_list = rows
        return changes

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            row.told = self.reads([row])[row.pk]
        return row

    def each(self, request: HttpRequest, chosen: QuerySet[Any], act: Callable[[HttpRequest, Any], str]) -> None:
        """Each is one transaction; what one refuses the others still get."""
        for one in chosen:
            self.attempt(request, lambda one=one: act(request, one))  # type: ignore[misc]

    @display(description="Ended")
    def ended(self, row: Any) -> str:
        return f"{row.told.percent} %"

    @display(description="Jobs by state")
    def counts(self, row: Any) -> str:
        return ", ".join(f"{count} {name}" for name, count in sorted(row.told.counts.items())) or "–"


@admin.register(Workflow)
class WorkflowConsole(Groups):
    list_display = ("named", "whose", "state", "ended", "counts", "priority", "created_at", "buttons")
    list_select_related = ("project__organization",)
    search_fields = ("id", "name", "project__slug", "project__organization__slug")
    ordering = ("-id",)
    actions = ("cancel_all", "pause_all", "resume_all", "retry_all")
    row_buttons = ("cancel", "pause", "resume", "retry", "run_next")
    fields = ("id", "project", "name", "state", "ended", "counts", "priority", "generation", "labels", "created_at",
              "paused_at", "cancelled_at", "assigned_worker", "submitted_by", "jobs")  # fmt: skip
    readonly_fields = fields

    def reads(self, rows: list[Any]) -> dict[Any, Any]:
        return standings(rows)

    @display(description="Workflow")
    def named(self, workflow: Workflow) -> str:
        return str(workflow)

    @display(description="Project")
    def whose(self, workflow: Workflow) -> str:
        return f"{workflow.project.organization.slug}/{workflow.project.slug}"

    @display(description="State", label=STATES)
    def state(self, workflow: Any) -> tuple[str, str]:
        return workflow.told.state, workflow.told.state.label

    @display(description="Its jobs")
    def jobs(self, workflow: Workflow) -> SafeString:
        return format_html('<a href="{}">its page</a>', reverse("dashboard:workflow", args=[workflow.pk]))

    @display(description="")
    def buttons(self, workflow: Any) -> SafeString:
        offers = []
        if workflow.told.counts.get("dead_letter") and not workflow.cancelled_at:
            offers.append(("retry", "Retry", "replay"))
        if workflow.told.state not in OVER:
            halted = ("resume", "Resume", "play_arrow") if workflow.paused_at else ("pause", "Pause", "pause")
            offers += [] if workflow.cancelled_at else [halted, ("run_next", "Run next", "bolt")]
            offers.append(("cancel", "Cancel", "block"))
        return self.forms(workflow, offers)

    def cancel(self, request: HttpRequest, workflow: Workflow) -> str:
        services.cancel_workflow(workflow=workflow, actor=actor_of(request))
        return f"{workflow} is cancelled; jobs that run are told at their next heartbeat."

    def pause(self, request: HttpRequest, workflow: Workflow) -> str:
        services.pause_workflow(workflow=workflow, actor=actor_of(request))
        return f"{workflow} is paused: nothing of it starts."

    def resume(self, request: HttpRequest, workflow: Workflow) -> str:
        services.resume_workflow(workflow=workflow, actor=actor_of(request))
        return f"{workflow} goes on."

    def retry(self, request: HttpRequest, workflow: Workflow) -> str:
        services.retry_workflow(workflow=workflow, actor=actor_of(request))
        return f"What had failed of {workflow} runs again."

    def run_next(self, request: HttpRequest, workflow: Workflow) -> str:
        services.run_workflow_next(workflow=workflow, actor=actor_of(request))
        return f"{workflow} is next in its queues."

    @admin.action(description="Cancel", permissions=["act"])
    def cancel_all(self, request: HttpRequest, queryset: QuerySet[Workflow]) -> None:
        self.each(request, queryset, self.cancel)

    @admin.action(description="Pause", permissions=["act"])
    def pause_all(self, request: HttpRequest, queryset: QuerySet[Workflow]) -> None:
        self.each(request, queryset, self.pause)

    @admin.action(description="Resume", permissions=["act"])
    def resume_all(self, request: HttpRequest, queryset: QuerySet[Workflow]) -> None:
        self.each(request, queryset, self.resume)

    @admin.action(description="Retry what failed", permissions=["act"])
    def retry_all(self, request: HttpRequest, queryset: QuerySet[Workflow]) -> None:
        self.each(request, queryset, self.retry)


@admin.register(Batch)
class BatchConsole(Groups):
    list_display = ("id", "whose", "ended", "counts", "size", "created_at", "completed_at", "buttons")
    list_select_related = ("queue__project__organization", "project__organization")
    search_fields = ("id", "queue__name", "project__slug", "project__organization__slug")
    ordering = ("-id",)
    actions = ("cancel_all",)
    row_buttons = ("cancel",)
    fields = ("id", "project", "queue", "ended", "counts", "size", "created_at", "on_complete", "completed_at",
              "on_complete_job", "submitted_by")  # fmt: skip
    readonly_fields = fields

    def reads(self, rows: list[Any]) -> dict[Any, Any]:
        return far_of(rows)

    @display(description="Queue")
    def whose(self, batch: Batch) -> str:
        home = f"{batch.project.organization.slug}/{batch.project.slug}"
        return f"{home}/{batch.queue.name}" if batch.queue else home

    @display(description="")
    def buttons(self, batch: Any) -> SafeString:
        return self.forms(batch, [("cancel", "Cancel", "block")] if batch.told.left else [])

    def cancel(self, request: HttpRequest, batch: Batch) -> str:
        services.cancel_batch(batch=batch, actor=actor_of(request))
        return f"{batch} is cancelled; jobs that run are told at their next heartbeat."

    @admin.action(description="Cancel", permissions=["act"])
    def cancel_all(self, request: HttpRequest, queryset: QuerySet[Batch]) -> None:
        self.each(request, queryset.select_related("project"), self.cancel)
