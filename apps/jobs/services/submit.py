"""Submit jobs; one is the usual case."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

import structlog
from django.db import DataError, transaction
from django.utils.timezone import now

from apps.errors import BadInput, NotFound
from apps.jobs.engine.admit import Key, admit, batches
from apps.jobs.engine.enqueue import SNOOZES, Enqueued, NewJob, enqueue
from apps.jobs.engine.wake import SOON, wake_promoter, wake_queue
from apps.jobs.models import Job
from apps.jobs.selectors import find
from apps.jobs.selectors.targets import targetable
from apps.jobs.services.check import check
from apps.jobs.services.full import refuse_when_full
from apps.jobs.services.join import aim_at, held_back, join
from apps.jobs.states import JobState, Placement
from apps.queues.models import Queue, RetryPolicy
from apps.queues.selectors import with_depth
from apps.sql import after_commit

# What the database settles as it writes a job.
DECIDED = ("created_at", "run_at", "rank", "ranked_aging", "priority", "max_attempts", "max_losses")


def submit(*, queue: Queue | str, type: str, submitted_by: UUID | None = None, **fields: Any) -> Job:
    """Submit one job inside the caller's transaction; workers hear of it when that commits.

    `queue` is a Queue or "org/project/queue". Fields: payload, priority, run_at or delay_seconds,
    timeout_ms, retry_policy, max_attempts, max_losses, depends_on, on_parent_failure, unique_key,
    concurrency_key, max_snoozes, requires_approval, workflow, labels, required_worker (its uid), placement. Raises
    BadInput or WorkerUnavailable naming the field, and QueueFull. The answer's `is_new` is False when a live job already
    held the unique key: then that one is answered.
    """
    place = queue_of(queue)
    refuse_when_full(place)
    job = new_job(place, {"type": type, **fields}, pointer="#", policies={})
    [placed] = enqueue_here(place, [job], submitted_by=submitted_by, pointer="#")
    return _as_job(place, job, placed, submitted_by)


def _as_job(queue: Queue, job: NewJob, placed: Enqueued, submitted_by: UUID | None) -> Job:
    """The row as it was written, without asking for it again; read where it is another job's."""
    if not placed.is_new or placed.created_at is None or job.depends_on or job.workflow_id:
        found = find(placed.job_id)
        found.is_new = placed.is_new
        return found
    said = {
        "id": job.id,
        "queue_id": queue.id,
        "type": job.type,
        "payload": json.loads(job.payload),
        "state": placed.state,
        "max_snoozes": SNOOZES if job.max_snoozes is None else job.max_snoozes,
        "requires_approval": job.requires_approval,
        "timeout_ms": job.timeout_ms,
        "retry_policy_id": job.retry_policy_id,
        "on_parent_failure": job.on_parent_failure,
        "unique_key": job.unique_key,
        "concurrency_key": job.concurrency_key,
        "labels": json.loads(job.labels) if job.labels else None,
        "placement": job.placement,
        "required_worker": job.required_worker,
        "submitted_by": submitted_by,
        "request_id": structlog.contextvars.get_contextvars().get("request_id"),
        **{name: getattr(placed, name) for name in DECIDED},
    }
    # As rows are read: a model made by keyword takes five times as long.
    made = Job.from_db(None, list(_blank()), list((_blank() | said).values()))
    made.queue = queue
    return made


@cache
def _blank() -> dict[str, Any]:
    """A job of which nothing is said, by column."""
    none = Job()
    return {field.attname: getattr(none, field.attname) for field in Job._meta.concrete_fields}


def submit_one(
    *,
    queue: Queue,
    fields: Mapping[str, Any],
    submitted_by: UUID | None = None,
    job_id: UUID | None = None,
    ask_depth: bool = True,
) -> Enqueued:
    """The same without reading the job back: what the API's hot path calls. `job_id` is a UUIDv7, should one be set."""
    if ask_depth:
        refuse_when_full(queue)
    job = new_job(queue, fields, pointer="#", policies={})
    if job_id:
        job = replace(job, id=job_id)
    [placed] = enqueue_here(queue, [job], submitted_by=submitted_by, pointer="#")
    return placed


def enqueue_here(
    queue: Queue,
    jobs: Sequence[NewJob],
    *,
    batch_id: UUID | None = None,
    submitted_by: UUID | None = None,
    pointer: str = "#/jobs/{}",
) -> list[Enqueued]:
    """Enqueue checked jobs of one queue, and tell its workers on commit."""
    if not any(job.workflow_id for job in jobs):  # the plain case needs no transaction of its own
        placed = _enqueued(jobs, batch_id, submitted_by, pointer)
    else:
        with transaction.atomic():
            joined = join(jobs, project_id=queue.project_id, pointer=pointer)
            placed = held_back(jobs, _enqueued(jobs, batch_id, submitted_by, pointer), joined)
            aim_at(jobs, placed, joined)
    announce(jobs, placed)
    return placed


def _enqueued(jobs: Sequence[NewJob], batch_id: UUID | None, submitted_by: UUID | None, pointer: str) -> list[Enqueued]:
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    return enqueue(jobs, batch_id=batch_id, submitted_by=submitted_by, request_id=request_id, pointer=pointer)


def announce(jobs: Sequence[NewJob], placed: Sequence[Enqueued]) -> None:
    """Tell workers and the promoter, on commit, of what is there for them."""
    queued = [job for job, one in zip(jobs, placed, strict=True) if one.is_new and one.state == JobState.QUEUED]
    if queued:
        let_through({(job.queue_id, job.concurrency_key) for job in queued if job.concurrency_key is not None})
        for queue_id in {job.queue_id for job in queued}:
            wake_queue(queue_id)
    if any(one.state == JobState.SCHEDULED and _is_soon(job) for job, one in zip(jobs, placed, strict=True)):
        wake_promoter()


def _is_soon(job: NewJob) -> bool:
    """Due before a promoter that nobody wakes would look."""
    late = timedelta(seconds=SOON)
    return (job.delay_ms or 0) <= SOON * 1000 and (job.run_at is None or job.run_at <= now() + late)


def let_through(keys: Collection[Key]) -> None:
    """Once these jobs are committed, not before: the turns of their keys must not wait for a caller's transaction."""

    def admit_all() -> None:
        for some in batches(keys):
            admit(keys=some)

    if keys:
        after_commit(admit_all)


def queue_of(queue: Queue | str) -> Queue:
    """A queue, or the one that is named so. Raises NotFound."""
    if isinstance(queue, Queue):
        return queue
    try:
        organization, project, name = queue.split("/")
        return with_depth(Queue.objects.all()).get(
            project__organization__slug=organization, project__slug=project, name=name
        )
    except (ValueError, DataError, Queue.DoesNotExist):  # a NUL is a DataError
        raise NotFound(f"There is no queue {queue!r}; name it organization/project/queue.") from None


def new_job(
    queue: Queue, fields: Mapping[str, Any], *, pointer: str, policies: dict[str, UUID], joins: bool = False
) -> NewJob:
    """Check what was asked for; `policies` remembers, over many jobs of one queue, which were looked up."""
    ready = check(fields, pointer=pointer)
    if queue.allowed_types is not None and ready["type"] not in queue.allowed_types:
        raise BadInput.at(f"{pointer}/type", "This queue does not take this type.")
    policy = ready.pop("retry_policy", None)
    delay = ready.pop("delay_seconds", None)
    placed = (
        _placed(queue, ready, pointer, policies, joins=joins)
        if "required_worker" in ready or "placement" in ready
        else {}
    )
    return NewJob(
        workflow_id=ready.pop("workflow", None),
        queue_id=queue.id,
        retry_policy_id=_policy(queue, policy, f"{pointer}/retry_policy", policies),
        delay_ms=None if delay is None else round(delay * 1000),
        payload=ready.pop("payload", "{}"),
        **placed,
        **ready,
    )


def _placed(
    queue: Queue, ready: dict[str, Any], pointer: str, known: dict[str, UUID], *, joins: bool
) -> dict[str, Any]:
    """Where a job is to run; the default is kept as nothing, which costs nothing."""
    placement, uid = ready.pop("placement", None), ready.pop("required_worker", None)
    joins = joins or "workflow" in ready
    if placement == Placement.DISPATCH and not joins:
        raise BadInput.at(f"{pointer}/placement", "Only a job of a workflow goes where its workflow goes.")
    if placement == Placement.DISPATCH and uid is not None:
        raise BadInput.at(f"{pointer}/required_worker", "It goes where its workflow goes; name that one's worker.")
    if uid is None:
        anywhere = placement == Placement.ANY
        return {"placement": None if anywhere else placement, "anywhere": anywhere}
    if f"worker {uid}" not in known:
        organization = queue.project.organization_id
        worker = targetable(uid=uid, organization_id=organization, queues=[queue], pointer=f"{pointer}/required_worker")
        known[f"worker {uid}"] = worker.pk
    return {"placement": Placement.JOB.value, "required_worker": known[f"worker {uid}"]}


def _policy(queue: Queue, given: Any, pointer: str, known: dict[str, UUID]) -> UUID | None:
    """Find a retry policy of the queue's project by row, id or name."""
    if given is None:
        return None
    if isinstance(given, RetryPolicy):
        given = given.id
    if str(given) not in known:
        found = _find_policy(queue.project_id, given)
        if found is None:
            raise BadInput.at(pointer, "There is no such retry policy in this project.")
        known[str(given)] = found
    return known[str(given)]


def _find_policy(project_id: UUID, given: Any) -> UUID | None:
    policies = RetryPolicy.objects.filter(project_id=project_id)
    try:
        chosen = policies.filter(id=given if isinstance(given, UUID) else UUID(given))
    except (ValueError, TypeError, AttributeError):
        chosen = policies.filter(name=given) if isinstance(given, str) else policies.none()
    return chosen.values_list("id", flat=True).first()
