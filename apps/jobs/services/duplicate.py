"""Submit a job again as a new one, on someone's behalf."""

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import TextField
from django.db.models.functions import Cast

from apps.audit.record import Actor
from apps.jobs.engine.enqueue import Enqueued
from apps.jobs.models import Job
from apps.jobs.selectors import find
from apps.jobs.services.check import KEPT
from apps.jobs.services.full import refuse_when_full
from apps.jobs.services.recorded import recorded
from apps.jobs.services.submit import enqueue_here, new_job
from apps.jobs.states import Placement
from apps.queues.models import RetryPolicy
from apps.workers.models import Worker

# What a copy has of the original as it is. Not its unique key, which names one job; nor its parents, batch, workflow,
# schedule, progress and history: it is a new request.
COPIED = (
    "type", "priority", "timeout_ms", "max_attempts", "max_losses", "max_snoozes",
    "concurrency_key", "requires_approval", "labels",
)  # fmt: skip


@transaction.atomic
def duplicate(
    *,
    job_id: UUID,
    actor: Actor,
    payload: Any = KEPT,
    priority: int | None = None,
    run_at: datetime | None = None,
    new_id: UUID | None = None,
) -> Enqueued:
    """Submit a copy of a job in whatever state, due now unless said; its payload, priority and time may be others.

    It is checked as a submission is: raises BadInput naming the field, WorkerUnavailable, and QueueFull.
    """
    source: Any = find(job_id, among=_with_exact_payload())
    said = {"priority": priority, "run_at": run_at, **({} if payload is KEPT else {"payload": payload})}
    changes = {name: value for name, value in said.items() if value is not None or name == "payload"}
    fields = (
        {name: getattr(source, name) for name in COPIED} | {"retry_policy": _policy(source)} | _target(source) | changes
    )
    refuse_when_full(source.queue)
    job = new_job(source.queue, fields, pointer="#", policies={})
    if payload is KEPT:
        job = replace(job, payload=source.payload_text)
    if new_id:
        job = replace(job, id=new_id)
    [placed] = enqueue_here(source.queue, [job], submitted_by=actor.submitter_id, pointer="#")
    recorded(job_id, actor, "job.duplicate", after={"job": str(placed.job_id), "changed": sorted(changes)})
    return placed


def _with_exact_payload() -> Any:
    """With its payload as the database prints it: no digit is lost on the way."""
    return Job.objects.select_related("queue__project").annotate(payload_text=Cast("payload", TextField()))


def _policy(source: Job) -> UUID | None:
    """Its own retry policy, unless that is gone: then the queue's."""
    own = source.retry_policy_id
    if own is None or not RetryPolicy.objects.filter(pk=own, project_id=source.queue.project_id).exists():
        return None
    return own


def _target(source: Job) -> dict[str, str]:
    """The worker it keeps to by its own word, and not the one it happened to run on; where its workflow goes the copy does not, for it leaves that."""
    if source.placement != Placement.JOB:
        return {}
    uids = Worker.objects.filter(pk__in=[source.required_worker]).values_list("uid", flat=True)
    return {"placement": Placement.JOB.value, **({"required_worker": uids[0]} if uids else {})}
