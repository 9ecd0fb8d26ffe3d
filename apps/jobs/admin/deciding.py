"""What staff decide about jobs: approve, or reject, with a note that is asked for first; submit again as new ones."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.audit.admin.console import actor_of
from apps.jobs import services
from apps.jobs.admin.steering import Steering
from apps.jobs.models import Job

NOTE_MAX = 1000


class NoteForm(forms.Form):
    note = forms.CharField(max_length=NOTE_MAX, required=False, widget=UnfoldAdminTextInputWidget)


class Deciding(Steering):
    """Buttons and actions; each job is one transaction."""

    def approve(self, request: HttpRequest, job: Job) -> str:
        services.approve(job_id=job.pk, actor=actor_of(request))
        return "Approved: it goes on."

    def reject(self, request: HttpRequest, job: Job) -> str:
        services.reject(job_id=job.pk, actor=actor_of(request))
        return "Rejected: it is cancelled."

    def duplicate(self, request: HttpRequest, job: Job) -> str:
        made = services.duplicate(job_id=job.pk, actor=actor_of(request))
        return f"Duplicated as {made.job_id}."

    @admin.action(description="Duplicate", permissions=["act"])
    def duplicate_all(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self.each(request, lambda pk: services.duplicate(job_id=pk, actor=actor_of(request)), "duplicated")

    @admin.action(description="Approve…", permissions=["act"])
    def approve_all(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        def act(pk: UUID, asked: dict[str, Any]) -> None:
            services.approve(job_id=pk, actor=actor_of(request), note=asked["note"])

        return self.asked(request, NoteForm, "approve_all", act, "approved")

    @admin.action(description="Reject…", permissions=["act"])
    def reject_all(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        def act(pk: UUID, asked: dict[str, Any]) -> None:
            services.reject(job_id=pk, actor=actor_of(request), note=asked["note"])

        return self.asked(request, NoteForm, "reject_all", act, "rejected")
