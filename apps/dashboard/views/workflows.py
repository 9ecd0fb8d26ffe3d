"""The workflows of a project, one of them with its graph, a batch, and what a person may do to them."""

import json
from typing import cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from apps.dashboard.selectors import workflows as reads
from apps.dashboard.selectors.graph import drawing
from apps.dashboard.selectors.reserved import reservation_of
from apps.dashboard.views.order import number, place, reason
from apps.dashboard.views.shell import Request, actor, as_uuid, choose, clean, page, part, show, verb_of
from apps.jobs import services
from apps.jobs.selectors.batches import progress_of
from apps.jobs.selectors.workflows import results, seen_queues, standings, steps
from apps.jobs.states import FINAL, OVER

PAGE = 50


@require_GET
@page
def workflows(request: HttpRequest) -> HttpResponse:
    request = cast("Request", request)
    seat, all_seats = choose(request)
    if seat is None:
        return redirect("dashboard:home")
    before = as_uuid(request.GET.get("before", ""))
    rows = reads.workflows(seat.project, before=before, limit=PAGE + 1)
    stand = standings(rows[:PAGE])
    shown = [(row, stand[row.pk]) for row in rows[:PAGE]]
    more = rows[PAGE - 1].pk if len(rows) > PAGE else None
    return show(request, "dashboard/workflows.html", seat, all_seats, {"before": before}, workflows=shown, more=more)


@require_GET
@page
def workflow(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = reads.workflow_seat(request.user, workflow_id)
    shown, more = steps(one)
    stand = standings([one])[one.pk]
    answers = results(shown, visible=seen_queues(one.project, shown, seat.role))
    return show(
        request,
        "dashboard/parts/workflow.html" if part(request) == "workflow" else "dashboard/workflow.html",
        seat,
        workflow=one,
        standing=stand,
        over=stand.state in OVER,
        reserved=reservation_of(one),
        steps=[(step, _said(answers.get(step.id))) for step in shown],
        more=more,
        drawing=drawing(shown, ended=FINAL),
    )


def _said(result: object) -> str:
    return "" if result is None else json.dumps(result, ensure_ascii=False)


@require_GET
@page
def batch(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    request = cast("Request", request)
    one, seat = reads.batch_seat(request.user, batch_id)
    template = "dashboard/parts/batch.html" if part(request) == "batch" else "dashboard/batch.html"
    return show(request, template, seat, batch=one, far=progress_of(one))


_verb = verb_of(reads.workflow_seat, "workflow")

cancel = _verb(
    lambda request, one: services.cancel_workflow(workflow=one, actor=actor(request)),
    "Cancelled. Jobs that run are told at their next heartbeat.",
)
pause = _verb(
    lambda request, one: services.pause_workflow(workflow=one, actor=actor(request), reason=reason(request)),
    "Paused: nothing of it starts until it is resumed.",
)
resume = _verb(
    lambda request, one: services.resume_workflow(workflow=one, actor=actor(request)),
    "Resumed, each job from where it was.",
)
retry = _verb(
    lambda request, one: services.retry_workflow(workflow=one, actor=actor(request)),
    "What had failed runs again.",
)
priority = _verb(
    lambda request, one: services.set_workflow_priority(
        workflow=one, actor=actor(request), priority=number(request, "priority", -1000, 1000)
    ),
    "The priority of what waits was changed.",
)
move = _verb(
    lambda request, one: services.move_workflow(workflow=one, actor=actor(request), to=place(request)),
    "Moved.",
)
reassign = _verb(
    lambda request, one: services.reassign_workflow(
        workflow=one, actor=actor(request), worker=clean(request.POST.get("worker", "")) or None
    ),
    "Its jobs wait for another worker.",
)
run_next = _verb(
    lambda request, one: services.run_workflow_next(workflow=one, actor=actor(request)),
    "Its jobs are the next of their queues.",
)

# What has ended stays; the job that follows is made all the same.
cancel_batch = verb_of(reads.batch_seat, "batch")(
    lambda request, one: services.cancel_batch(batch=one, actor=actor(request)),
    "Cancelled. Jobs that run are told at their next heartbeat.",
)
