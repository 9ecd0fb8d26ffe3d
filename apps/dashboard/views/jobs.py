"""A job, the list of jobs, and what a person may do to one."""

from typing import cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Role
from apps.dashboard.selectors import job as reads
from apps.dashboard.selectors.access import job_seat
from apps.dashboard.selectors.timeline import timeline
from apps.dashboard.views.shell import Request, actor, attempted, page, part, show, verb_of
from apps.jobs import services
from apps.jobs.selectors import detail
from apps.jobs.selectors.why import why_waiting
from apps.jobs.states import FINAL, JobState


@require_GET
@page
def job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = job_seat(request.user, job_id)
    ran, parents = detail.history(one), reads.parents(one)
    template = "dashboard/parts/job.html" if part(request) == "job" else "dashboard/job.html"
    return show(
        request,
        template,
        seat,
        job=one,
        live=one.state not in FINAL,
        attempts=ran[::-1],
        strip=timeline(one, [past.attempt for past in ran], is_child=bool(parents.jobs)),
        lines=reads.lines(one),
        progress=detail.progress(one) if one.state == JobState.RUNNING else None,
        holder=detail.holder(one),
        waiting=why_waiting(one),
        approved_at=reads.decided_at(one),
        bound=reads.bound(one),
        texts=reads.texts(one) if seat.sees_payloads_of(one.queue) else None,
        earlier=detail.earlier_payloads(one),
        files=reads.files(one) if seat.sees_payloads_of(one.queue) else [],
        parents=parents,
        children=reads.children(one),
        submitter=reads.submitter(one),
    )


verb = verb_of(job_seat, "job")

cancel = verb(
    lambda request, one: services.cancel(job_id=one.pk, actor=actor(request)),
    "Cancelled. A job that runs is told at its next heartbeat.",
)
retry = verb(
    lambda request, one: services.retry_now(job_id=one.pk, actor=actor(request)),
    "Queued to run now.",
)


@require_POST
@page
def discard(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The job is gone afterwards, so the list of its queue's dead letters is shown."""
    request = cast("Request", request)
    one, seat = job_seat(request.user, job_id)
    seat.demand(Role.ADMIN)
    attempted(request, lambda: services.discard(job_id=one.pk, actor=actor(request)), "Discarded.")
    return redirect(f"{reverse('dashboard:dead_letters')}?project={seat.project.pk}")
