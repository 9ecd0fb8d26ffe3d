"""Workers and their sessions: a window, for they speak for themselves."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.timezone import now
from unfold.decorators import display

from apps.audit.admin.console import Window
from apps.workers.models import Session, Worker
from apps.workers.selectors import Said

STATES = {
    "live": "success",
    "draining": "warning",
    "silent": "danger",
    "superseded": "info",
    "stopped": "info",
    "never": "info",
}


def state_of(row: Any) -> str:
    """How a session does, from its own columns."""
    if row.ended_at:
        return "stopped"
    if row.lease_expires_at is None:
        return "never"
    if row.fenced_at and row.fenced_at <= row.lease_expires_at:
        return "superseded"
    if row.fenced_at or row.lease_expires_at <= now():
        return "silent"
    return "draining" if row.draining else "live"


def machine_of(row: Any) -> str:
    """How its machine did at the last heartbeat that said so; remote workers may say anything, or nothing."""
    said = Said.of(row.sample)
    return ", ".join(said.words) if said else ""


def able_to(row: Any) -> str:
    """Its catalogue as it announced it."""
    return json.dumps(row.capabilities, ensure_ascii=False) if row.capabilities else ""


@admin.register(Worker)
class WorkerConsole(Window):
    list_display = ("uid", "state", "heard", "slots", "host", "code", "organization", "created_at")
    list_select_related = ("organization",)
    search_fields = ("uid",)
    ordering = ("uid",)
    fields = (
        "uid", "state", "heard", "slots", "host", "code", "machine", "able", "organization", "drained_at", "created_at"
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Worker]:
        """Each with the columns of its latest session."""
        latest = Session.objects.filter(worker=OuterRef("pk")).order_by("-started_at")
        columns = (
            "ended_at", "fenced_at", "lease_expires_at", "heartbeat_at", "draining", "concurrency", "hostname", "pid",
            "version", "sample", "capabilities",
        )  # fmt: skip
        rows: QuerySet[Worker] = super().get_queryset(request)
        return rows.annotate(**{name: Subquery(latest.values(name)[:1]) for name in columns})

    @display(description="State", label=STATES)
    def state(self, worker: Any) -> str:
        return state_of(worker)

    @display(description="Last heard", ordering=F("heartbeat_at").desc(nulls_last=True))
    def heard(self, worker: Any) -> Any:
        return worker.heartbeat_at

    @display(description="Slots")
    def slots(self, worker: Any) -> Any:
        return worker.concurrency

    @display(description="Where")
    def host(self, worker: Any) -> str:
        return f"{worker.hostname}, pid {worker.pid}" if worker.hostname else ""

    @display(description="Code")
    def code(self, worker: Any) -> str:
        return worker.version or ""

    @display(description="Machine")
    def machine(self, worker: Any) -> str:
        return machine_of(worker)

    @display(description="Capabilities")
    def able(self, worker: Any) -> str:
        return able_to(worker)


@admin.register(Session)
class SessionConsole(Window):
    list_display = ("worker", "state", "heartbeat_at", "started_at", "concurrency", "where", "version", "fenced_writes")
    list_select_related = ("worker",)
    search_fields = ("worker__uid",)
    ordering = ("-id",)
    fields = (
        "worker",
        "state",
        "started_at",
        "heartbeat_at",
        "lease_expires_at",
        "ended_at",
        "fenced_at",
        "concurrency",
        "where",
        "version",
        "machine",
        "able",
        "types",
        "fenced_writes",
    )
    readonly_fields = fields

    @display(description="State", label=STATES)
    def state(self, session: Session) -> str:
        return state_of(session)

    @display(description="Where")
    def where(self, session: Session) -> str:
        return f"{session.hostname}, pid {session.pid}"

    @display(description="Machine")
    def machine(self, session: Session) -> str:
        return machine_of(session)

    @display(description="Capabilities")
    def able(self, session: Session) -> str:
        return able_to(session)
