"""Jobs, shelf by shelf."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import F, Func, QuerySet, TextField
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import display

from apps.audit.admin.console import actor_of
from apps.errors import NotFound, Refusal
from apps.jobs import services
from apps.jobs.admin.deciding import Deciding
from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import DEAD_LETTERS, find
from apps.jobs.selectors.why import why_waiting
from apps.jobs.states import LIVE, WAITING, JobState

LABELS = {
    "completed": "success",
    "running": "info",
    "retry_wait": "warning",
    "awaiting_approval": "warning",
    "paused": "warning",
    "dead_letter": "danger",
}
LOOK = 20_000  # ended jobs that a filter by state looks through
REPLAYABLE = frozenset({JobState.DEAD_LETTER})
RETRYABLE = frozenset({JobState.RETRY_WAIT, JobState.SCHEDULED})


class ShelfFilter(DropdownFilter):
    """Where rows stand; a shelf is a partition, so each choice reads one, and the default reads two."""

    title = "shelf"
    parameter_name = "shelf"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("live", "Live"),
            ("dead", "Dead letters"),
            ("0", "Ended today"),
            ("1", "Ended yesterday"),
            ("all", "All"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "live":
                return queryset.filter(shelved_on=None)
            case "dead":
                return queryset.filter(shelved_on=DEAD_LETTERS)
            case "0" | "1" as days:
                return queryset.filter(shelved_on=datetime.now(UTC).date() - timedelta(days=int(days)))
        return queryset


class StateFilter(DropdownFilter):
    """Of what has ended only the newest are looked through: no index knows their states."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, str(state.label)) for state in JobState]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        state = self.value()
        if state not in JobState.values:
            return queryset
        if state in LIVE:
            return queryset.filter(state=state, shelved_on=None)
        if state == JobState.DEAD_LETTER:
            return queryset.filter(shelved_on=DEAD_LETTERS)
        ended = queryset.filter(shelved_on__lt=DEAD_LETTERS)
        edge = list(ended.order_by("-id").values_list("pk", flat=True)[LOOK : LOOK + 1])
        return ended.filter(state=state, pk__gt=edge[0]) if edge else ended.filter(state=state)


@admin.register(Job)
class JobConsole(Deciding):
    list_display = ("what", "state_label", "where", "tries", "priority", "created_at", "finished_at", "buttons")
    list_filter = (ShelfFilter, StateFilter)
    list_filter_submit = False
    ordering = ("-id",)
    search_fields = ("id",)
    search_help_text = "A job's id, or the exact name of a type among the live and the dead"
    actions = (
        "cancel_all",
        "retry_all",
        "replay_all",
        "duplicate_all",
        "approve_all",
        "reject_all",
        "pause_all",
        "resume_all",
        "run_next_all",
        "move_to_top",
        "move_up",
        "move_down",
        "move_to_bottom",
        "set_priority",
        "reschedule",
        "reassign",
    )
    row_buttons = ("approve", "reject", "cancel", "retry", "replay", "duplicate", "pause", "resume", "run_next")
    readonly_fields = ("where", "waits_for", "tries", "payload_text", "result_text", "buttons")
    fieldsets = (
        (None, {"fields": ("id", "type", "where", "state", "reason", "waits_for", "tries", "buttons")}),
        ("When", {"fields": ("created_at", "run_at", "started_at", "deadline_at", "finished_at")}),
        ("Data", {"fields": ("payload_text", "result_text", "requires_approval", "approval", "labels")}),
        (
            "Ownership",
            {
                "fields": (
                    "priority",
                    "rank",
                    "fence",
                    "generation",
                    "session_id",
                    "unique_key",
                    "concurrency_key",
                    "submitted_by",
                )
            },
        ),
    )
    change_form_after_template: Any = "admin/jobs/attempts.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """Without payloads, and joined in a second statement, so that the list is one walk along ids."""
        return super().get_queryset(request).defer("payload", "result").prefetch_related("queue__project__organization")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Job | None:
        """By the shelves it can stand on, not by all there are."""
        printed = {
            f"{name}_printed": Func(F(name), function="jsonb_pretty", output_field=TextField())
            for name in ("payload", "result")
        }
        try:
            return find(UUID(object_id), among=self.get_queryset(request).annotate(**printed))
        except (ValueError, NotFound):
            return None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(pk=find(UUID(term)).pk), False
        except NotFound:
            return queryset.none(), False
        except ValueError:
            named = queryset.filter(type=term)
        return (named.filter(shelved_on=None) | named.filter(shelved_on=DEAD_LETTERS)), False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            ledger = Attempt.objects.filter(job_id=UUID(object_id)).order_by("-fence")[:50]
        except ValueError:
            ledger = Attempt.objects.none()
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "attempts": ledger})

    @display(description="Job", header=True)
    def what(self, job: Job) -> list[str]:
        return [job.type, str(job.pk)]

    @display(description="State", label=LABELS)
    def state_label(self, job: Job) -> tuple[str, str]:
        return job.state, job.get_state_display()

    @display(description="Queue")
    def where(self, job: Job) -> str:
        project = job.queue.project
        return f"{project.organization.slug}/{project.slug}/{job.queue.name}"

    @display(description="Attempt")
    def tries(self, job: Job) -> str:
        return f"{job.attempt} of {job.max_attempts}"

    @display(description="Why it waits")
    def waits_for(self, job: Job) -> SafeString | None:
        waiting = why_waiting(job)
        return format_html_join("", "<p>{}</p>", ([gate.says] for gate in waiting.gates)) if waiting else None

    @display(description="Payload")
    def payload_text(self, job: Any) -> SafeString:
        return format_html('<pre class="whitespace-pre-wrap">{}</pre>', job.payload_printed)

    @display(description="Result")
    def result_text(self, job: Any) -> SafeString | None:
        printed = job.result_printed
        return None if printed is None else format_html('<pre class="whitespace-pre-wrap">{}</pre>', printed)

    @display(description="")
    def buttons(self, job: Job) -> SafeString:
        return self.forms(job, _offers(job))

    # What the buttons and actions do

    def cancel(self, request: HttpRequest, job: Job) -> str:
        done = services.cancel(job_id=job.pk, actor=actor_of(request))
        return "Its worker is told at the next heartbeat." if done.cancelling else "Cancelled."

    def retry(self, request: HttpRequest, job: Job) -> str:
        services.retry_now(job_id=job.pk, actor=actor_of(request))
        return "Queued to run now."

    def replay(self, request: HttpRequest, job: Job) -> str:
        services.replay(job_id=job.pk, actor=actor_of(request))
        return "Replayed: queued again, its history kept."

    @admin.action(description="Cancel", permissions=["act"])
    def cancel_all(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self.each(request, lambda pk: services.cancel(job_id=pk, actor=actor_of(request)), "cancelled")

    @admin.action(description="Run now", permissions=["act"])
    def retry_all(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self.each(request, lambda pk: services.retry_now(job_id=pk, actor=actor_of(request)), "queued")

    @admin.action(description="Replay", permissions=["act"])
    def replay_all(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self.each(request, lambda pk: services.replay(job_id=pk, actor=actor_of(request)), "replayed")

    def each(self, request: HttpRequest, act: Callable[[UUID], object], done: str) -> None:
        """One transaction a job: what one refuses, the others still get."""
        refusals: list[str] = []
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)[: self.list_per_page]
        for text in chosen:
            try:
                act(UUID(text))
            except Refusal as refusal:
                refusals.append(str(refusal))
        if count := len(chosen) - len(refusals):
            messages.success(request, f"{count} {done}.")
        if refusals:
            messages.warning(request, f"{len(refusals)} refused: {refusals[0]}")


def _offers(job: Job) -> Iterator[tuple[str, str, str]]:
    """The verbs that apply to a job in its state: name, words, icon."""
    if job.state == JobState.AWAITING_APPROVAL:
        yield "approve", "Approve", "check"
        yield "reject", "Reject", "block"
    if job.state in RETRYABLE or (job.state == JobState.AWAITING_APPROVAL and job.approval):
        yield "retry", "Run now", "bolt"
    if job.state == JobState.QUEUED:
        yield "run_next", "Run next", "vertical_align_top"
    if job.state == JobState.PAUSED:
        yield "resume", "Resume", "play_arrow"
    elif job.state in WAITING:
        yield "pause", "Pause", "pause"
    if job.state in LIVE:
        yield "cancel", "Cancel", "close"
    if job.state in cast("frozenset[str]", REPLAYABLE):
        yield "replay", "Replay", "replay"
    yield "duplicate", "Duplicate", "content_copy"
