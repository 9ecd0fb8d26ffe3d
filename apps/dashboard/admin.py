"""Queues in the admin: with what they hold, and a switch on each row."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.timezone import now
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.audit.admin.console import Console, actor_of
from apps.dashboard.engine.queue_counts import CAP, queue_counts
from apps.dashboard.selectors.overview import is_paused, names_of, unknown_types
from apps.dashboard.templatetags.fencepost import capped, span
from apps.jobs import services as jobs
from apps.queues import services
from apps.queues.models import BreakerState, Queue
from apps.queues.selectors import breaker_now, with_breaker
from apps.queues.services import breakers

READ_ONLY = ("created_at", "paused_at", "paused_until", "paused_by", "pause_reason")


class PauseForm(forms.Form):
    reason = forms.CharField(max_length=255, required=False, widget=UnfoldAdminTextInputWidget)
    until = forms.DateTimeField(
        required=False, label="Until (UTC); empty: until resumed", widget=UnfoldAdminTextInputWidget
    )


@admin.register(Queue)
class QueueConsole(Console):
    list_display = ("heading", "state", "waiting", "running", "oldest", "unknown", "dead", "buttons")
    list_select_related = ("project__organization",)
    search_fields = ("name", "project__slug", "project__organization__slug")
    ordering = ("project__organization__name", "project__name", "name")
    actions = ("pause_all", "pause_because", "resume_all", "open_breakers", "close_breakers", "purge_all")
    row_buttons = ("pause", "resume", "close_breaker")
    readonly_fields = READ_ONLY
    autocomplete_fields = ("project", "retry_policy")
    fieldsets = (
        (None, {"fields": ("project", "name", "retry_policy", "allowed_types", "hide_payloads_below")}),
        ("Order and time", {"fields": ("default_priority", "aging_seconds", "weight", "timeout_ms")}),
        ("Limits", {"fields": ("max_concurrency", "shards", "rate_per_second", "burst", "max_depth", "max_per_key")}),
        ("Breaker", {"fields": breakers.FIELDS}),
        ("Kept for", {"fields": ("retention_days", "dead_letter_retention_days")}),
        ("Pause", {"fields": READ_ONLY}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (*READ_ONLY, "project") if obj else READ_ONLY

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A queue goes through the API, which looks for its jobs first."""
        return False

    def organization_of(self, row: Queue) -> UUID:
        return row.project.organization_id

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        fields = {name: form.cleaned_data[name] for name in form.changed_data}
        if change:
            services.update(queue=obj, actor=actor_of(request), **fields)
        else:
            obj.__dict__.update(services.create(actor=actor_of(request), **fields).__dict__)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Queue]:
        return with_breaker(super().get_queryset(request))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Count for the page's queues in one statement."""
        page = super().get_changelist_instance(request)
        rows = list(page.result_list)
        held = {counts.queue_id: counts for counts in queue_counts(queue_ids=[row.pk for row in rows])}
        unknown = unknown_types(list(held.values()))
        for row in rows:
            row.counts, row.unknown = held[row.pk], unknown[row.pk]
        page.result_list = rows
        return page

    @display(description="Queue", header=True, ordering="name")
    def heading(self, queue: Queue) -> list[str]:
        whose = queue.project.organization.name
        letters = "".join(word[0] for word in whose.split()[:2])
        return [queue.name, f"{whose} / {queue.project.name}", letters]

    @display(description="State", label={"paused": "warning", "active": "success", "breaker open": "danger"})
    def state(self, queue: Queue) -> str:
        if is_paused(queue):
            return "paused"
        return "active" if breaker_now(queue).is_closed else "breaker open"

    @display(description="Waiting")
    def waiting(self, queue: Any) -> str:
        return capped(queue.counts.waiting, queue.counts.waiting >= CAP)

    @display(description="Running")
    def running(self, queue: Any) -> str:
        return f"{queue.counts.running} of {queue.max_concurrency}" if queue.max_concurrency else queue.counts.running

    @display(description="Oldest")
    def oldest(self, queue: Any) -> str | None:
        since = queue.counts.oldest_at
        return span((now() - since).total_seconds()) if since else None

    @display(description="Types no worker knows")
    def unknown(self, queue: Any) -> str:
        return names_of(queue.unknown)

    @display(description="Dead")
    def dead(self, queue: Any) -> str:
        return capped(queue.counts.dead, queue.counts.dead >= CAP)

    @display(description="")
    def buttons(self, queue: Queue) -> SafeString:
        offer = ("resume", "Resume", "play_arrow") if is_paused(queue) else ("pause", "Pause", "pause")
        shut = [] if breaker_now(queue).is_closed else [("close_breaker", "Close breaker", "power")]
        return self.forms(queue, [offer, *shut])

    def pause(self, request: HttpRequest, queue: Queue, **asked: Any) -> str:
        services.pause(queue=queue, actor=actor_of(request), **asked)
        return f"{queue.name} is paused; what runs goes on to its end."

    def resume(self, request: HttpRequest, queue: Queue) -> str:
        jobs.resume_queue(queue=queue, actor=actor_of(request))
        return f"{queue.name} goes on."

    def open_breaker(self, request: HttpRequest, queue: Queue) -> str:
        jobs.set_breaker(queue=queue, actor=actor_of(request), state=BreakerState.OPEN)
        return f"The breaker of {queue.name} is open; what runs goes on to its end."

    def close_breaker(self, request: HttpRequest, queue: Queue) -> str:
        jobs.set_breaker(queue=queue, actor=actor_of(request), state=BreakerState.CLOSED)
        return f"The breaker of {queue.name} is closed, and failures are counted anew."

    @admin.action(description="Open the breaker", permissions=["act"])
    def open_breakers(self, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
        for queue in queryset:
            self.attempt(request, lambda queue=queue: self.open_breaker(request, queue))  # type: ignore[misc]

    @admin.action(description="Close the breaker", permissions=["act"])
    def close_breakers(self, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
        for queue in queryset:
            self.attempt(request, lambda queue=queue: self.close_breaker(request, queue))  # type: ignore[misc]

    @admin.action(description="Pause", permissions=["act"])
    def pause_all(self, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
        for queue in queryset:
            self.attempt(request, lambda queue=queue: self.pause(request, queue))  # type: ignore[misc]

    @admin.action(description="Pause, with reason and end…", permissions=["act"])
    def pause_because(self, request: HttpRequest, queryset: QuerySet[Queue]) -> HttpResponse | None:
        """Asks once for both; the answer comes back as the same action, confirmed."""
        form = PauseForm(request.POST if "confirmed" in request.POST else None)
        if form.is_valid():
            asked = {"reason": form.cleaned_data["reason"], "until": form.cleaned_data["until"]}
            for queue in queryset:
                self.attempt(request, lambda queue=queue: self.pause(request, queue, **asked))  # type: ignore[misc]
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": "Pause queues",
            "form": form,
            "chosen": [queue.pk for queue in queryset],
            "action": "pause_because",
            "back": request.get_full_path(),
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/ask.html", context)

    @admin.action(description="Resume", permissions=["act"])
    def resume_all(self, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
        for queue in queryset:
            self.attempt(request, lambda queue=queue: self.resume(request, queue))  # type: ignore[misc]

    @admin.action(description="Purge…", permissions=["act"])
    def purge_all(self, request: HttpRequest, queryset: QuerySet[Queue]) -> HttpResponse | None:
        """Asks once, with the count; the answer comes back as the same action, confirmed."""
        chosen = list(queryset)
        if "confirmed" in request.POST:
            for queue in chosen:
                self.attempt(request, lambda queue=queue: self._purge(request, queue))  # type: ignore[misc]
            return None
        held = {counts.queue_id: counts for counts in queue_counts(queue_ids=[queue.pk for queue in chosen])}
        lines = [(queue, capped(held[queue.pk].waiting, held[queue.pk].waiting >= CAP)) for queue in chosen]
        context = {**self.admin_site.each_context(request), "title": "Purge", "lines": lines, "opts": self.opts}
        return TemplateResponse(request, "admin/queues/purge.html", context)

    def _purge(self, request: HttpRequest, queue: Queue) -> str:
        return f"{jobs.purge(queue=queue, actor=actor_of(request))} queued jobs of {queue.name} were cancelled."
