"""Reservations: a window, in which one that holds up a worker is ended."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from apps.audit.admin.console import Window, actor_of
from apps.jobs import services
from apps.jobs.models import Workflow
from apps.workers.models import Reservation, ReservationState

STATES: dict[str, str] = {
    ReservationState.PENDING: "warning",
    ReservationState.BOUND: "success",
    ReservationState.DRAINING: "warning",
    ReservationState.RELEASED: "info",
}


@admin.register(Reservation)
class ReservationConsole(Window):
    list_display = ("flow", "organization", "worker", "stands", "generation", "created_at", "released_at", "last_error",
                    "buttons")  # fmt: skip
    list_select_related = ("organization", "worker")
    search_fields = ("id", "workflow_id", "worker__uid", "organization__slug")
    ordering = ("-id",)
    actions = ("release_all",)
    row_buttons = ("release",)
    fields = ("id", "organization", "flow", "page", "worker", "stands", "generation", "last_error", "created_at",
              "released_at")  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Reservation]:
        """Each with the name of its workflow, as long as there is one."""
        names = Workflow.objects.filter(pk=OuterRef("workflow_id")).values("name")
        rows: QuerySet[Reservation] = super().get_queryset(request)
        return rows.annotate(workflow_name=Subquery(names[:1]))

    @display(description="Workflow")
    def flow(self, reservation: Any) -> str:
        return reservation.workflow_name or str(reservation.workflow_id)

    @display(description="Its workflow")
    def page(self, reservation: Any) -> SafeString:
        if reservation.workflow_name is None:
            return format_html("gone")
        return format_html('<a href="{}">its page</a>', reverse("dashboard:workflow", args=[reservation.workflow_id]))

    @display(description="State", label=STATES)
    def stands(self, reservation: Reservation) -> tuple[str, str]:
        return reservation.state, reservation.get_state_display()

    @display(description="")
    def buttons(self, reservation: Reservation) -> SafeString:
        stands = reservation.state in (ReservationState.PENDING, ReservationState.BOUND)
        return self.forms(reservation, [("release", "Release", "link_off")] if stands else [])

    def release(self, request: HttpRequest, reservation: Reservation) -> str:
        ended = services.end_reservation(reservation_id=reservation.pk, actor=actor_of(request))
        if ended.state == ReservationState.RELEASED:
            return f"{reservation} is over."
        return "It ends once what runs of the workflow on its worker has ended."

    @admin.action(description="Release", permissions=["act"])
    def release_all(self, request: HttpRequest, queryset: QuerySet[Reservation]) -> None:
        for one in queryset:
            self.attempt(request, lambda one=one: self.release(request, one))  # type: ignore[misc]
