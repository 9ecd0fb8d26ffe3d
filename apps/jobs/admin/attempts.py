"""The ledger. It is read job by job: its index is on the job, and its rows are never many to one."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from apps.audit.admin.console import Window
from apps.jobs.models import Attempt, Job

NEWEST = 50  # jobs whose attempts the list shows when no job is named
OUTCOMES = {
    "success": "success",
    "retryable_error": "warning",
    "snoozed": "info",
    "needs_approval": "info",
    "permanent_error": "danger",
    "timeout": "danger",
    "lost": "danger",
    "crashed": "danger",
}


@admin.register(Attempt)
class AttemptConsole(Window):
    list_display = ("job", "number", "outcome_label", "started_at", "ran", "error", "worker_id")
    list_display_links = None  # all there is to see is here, and no index leads to one row
    ordering = ("-finished_at",)
    search_fields = ("job_id",)
    search_help_text = "A job's id; without one: the attempts of the newest live and dead jobs"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attempt]:
        return super().get_queryset(request).defer("traceback", "runtime")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Attempt | None:
        return None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if term:
            try:
                return queryset.filter(job_id=UUID(term)), False
            except ValueError:
                return queryset.none(), False
        newest = Job.objects.filter(attempt__gt=0).order_by("-id").values_list("pk", flat=True)[:NEWEST]
        return queryset.filter(job_id__in=list(newest)), False

    @display(description="Job")
    def job(self, attempt: Attempt) -> SafeString:
        href = reverse("admin:jobs_job_change", args=[attempt.job_id])
        return format_html('<a class="text-primary-600 dark:text-primary-500" href="{}">{}</a>', href, attempt.job_id)

    @display(description="Attempt")
    def number(self, attempt: Attempt) -> str:
        return (
            f"{attempt.attempt} (generation {attempt.generation})" if attempt.generation > 1 else str(attempt.attempt)
        )

    @display(description="Outcome", label=OUTCOMES)
    def outcome_label(self, attempt: Attempt) -> tuple[str, str]:
        return attempt.outcome, attempt.get_outcome_display()

    @display(description="Ran")
    def ran(self, attempt: Attempt) -> str:
        return f"{(attempt.finished_at - attempt.started_at).total_seconds():.3f} s"

    @display(description="Error")
    def error(self, attempt: Attempt) -> str:
        return ": ".join(filter(None, [attempt.error_class, (attempt.error_message or "")[:160]]))
