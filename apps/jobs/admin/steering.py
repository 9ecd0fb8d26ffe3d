"""What staff do to the place of waiting jobs: hold back, let go, move, run next; priority and time, asked for first."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from apps.audit.admin.console import Window, actor_of
from apps.jobs import services
from apps.jobs.models import Job

MINUTES_MAX = 10 * 365 * 24 * 60


class PriorityForm(forms.Form):
    priority = forms.IntegerField(min_value=-1000, max_value=1000, widget=UnfoldAdminIntegerFieldWidget)


class TimeForm(forms.Form):
    minutes = forms.IntegerField(
        min_value=0, max_value=MINUTES_MAX, label="Due in minutes", widget=UnfoldAdminIntegerFieldWidget
    )


class WorkerForm(forms.Form):
    worker = forms.CharField(
        max_length=128,
        required=False,
        label="Worker; empty: the first that takes it",
        widget=UnfoldAdminTextInputWidget,
    )


class Steering(Window):
    """Buttons and actions; each job is one transaction, and what one refuses the others still get."""

    def each(self, request: HttpRequest, act: Callable[[UUID], object], done: str) -> None:
        raise NotImplementedError

    # Buttons

    def pause(self, request: HttpRequest, job: Job) -> str:
        services.pause_job(job_id=job.pk, actor=actor_of(request))
        return "Paused: it waits until it is resumed."

    def resume(self, request: HttpRequest, job: Job) -> str:
        services.resume_job(job_id=job.pk, actor=actor_of(request))
        return "Resumed, with the place it had."

    def run_next(self, request: HttpRequest, job: Job) -> str:
        services.run_next(job_id=job.pk, actor=actor_of(request))
        return "It is the next job of its queue."

    # Actions

    @admin.action(description="Pause", permissions=["act"])
    def pause_all(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self.each(request, lambda pk: services.pause_job(job_id=pk, actor=actor_of(request)), "paused")

    @admin.action(description="Resume", permissions=["act"])
    def resume_all(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self.each(request, lambda pk: services.resume_job(job_id=pk, actor=actor_of(request)), "resumed")

    @admin.action(description="Run next", permissions=["act"])
    def run_next_all(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self.each(request, lambda pk: services.run_next(job_id=pk, actor=actor_of(request)), "put first")

    @admin.action(description="Move to the top", permissions=["act"])
    def move_to_top(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._move(request, "top")

    @admin.action(description="Move up", permissions=["act"])
    def move_up(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._move(request, "up")

    @admin.action(description="Move down", permissions=["act"])
    def move_down(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._move(request, "down")

    @admin.action(description="Move to the bottom", permissions=["act"])
    def move_to_bottom(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._move(request, "bottom")

    def _move(self, request: HttpRequest, to: str) -> None:
        self.each(request, lambda pk: services.move(job_id=pk, actor=actor_of(request), to=to), "moved")

    @admin.action(description="Set priority…", permissions=["act"])
    def set_priority(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        def act(pk: UUID, asked: dict[str, Any]) -> None:
            services.set_priority(job_id=pk, actor=actor_of(request), priority=asked["priority"])

        return self.asked(request, PriorityForm, "set_priority", act, "given another priority")

    @admin.action(description="Reschedule…", permissions=["act"])
    def reschedule(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        def act(pk: UUID, asked: dict[str, Any]) -> None:
            services.reschedule(job_id=pk, actor=actor_of(request), delay_seconds=asked["minutes"] * 60)

        return self.asked(request, TimeForm, "reschedule", act, "rescheduled")

    @admin.action(description="Reassign…", permissions=["act"])
    def reassign(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        def act(pk: UUID, asked: dict[str, Any]) -> None:
            services.reassign(job_id=pk, actor=actor_of(request), worker=asked["worker"] or None)

        return self.asked(request, WorkerForm, "reassign", act, "reassigned")

    def asked(
        self,
        request: HttpRequest,
        kind: type[forms.Form],
        action: str,
        act: Callable[[UUID, dict[str, Any]], None],
        done: str,
    ) -> HttpResponse | None:
        """Ask once for the one value; the answer comes back as the same action, confirmed."""
        form = kind(request.POST if "confirmed" in request.POST else None)
        if form.is_valid():
            self.each(request, lambda pk: act(pk, form.cleaned_data), done)
            return None
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
        context = {
            **self.admin_site.each_context(request),
            "title": "Change jobs",
            "form": form,
            "chosen": chosen,
            "action": action,
            "opts": self.opts,
            "back": request.get_full_path(),
        }
        return TemplateResponse(request, "admin/ask.html", context)
