"""Submit many jobs in one call, as a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from uuid_utils.compat import uuid7

from apps.errors import BadInput, Fault, IllegalMove, Refusal, WorkerUnavailable
from apps.jobs.engine.enqueue import Enqueued, NewJob
from apps.jobs.models import Batch
from apps.jobs.services.full import refuse_when_full
from apps.jobs.services.submit import enqueue_here, new_job, queue_of
from apps.queues.models import Queue

# What the job that follows a batch may not have: it waits for the batch, and is made whatever happens, also to a worker.
NOT_AFTER = ("depends_on", "on_parent_failure", "unique_key", "workflow", "run_at", "required_worker", "placement")
# What may be wrong with a job of a call, and not with the call.
FAULTS = (BadInput, WorkerUnavailable, IllegalMove)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A batch and where each of its jobs now waits, in the order they were given."""

    batch: Batch
    jobs: list[Enqueued]


@dataclass(frozen=True, slots=True)
class Sifted:
    """What was made of a call and what was not, by place in it; there is no batch where nothing was."""

    batch: Batch | None
    jobs: dict[int, Enqueued]
    rejected: dict[int, Refusal]


@dataclass(frozen=True, slots=True)
class _Call:
    queue: Queue
    submitted_by: UUID | None
    after: dict[str, Any] | None
    id: UUID = field(default_factory=uuid7)


@transaction.atomic
def submit_batch(
    *,
    queue: Queue | str,
    jobs: Sequence[Mapping[str, Any]],
    submitted_by: UUID | None = None,
    on_complete: Mapping[str, Any] | None = None,
) -> Submitted:
    """Submit up to BATCH_MAX jobs at once, all or none. Errors point at "#/jobs/<n>/<field>".

    `on_complete` is a job of the same queue that is made once all have ended, however they did; its payload, an object, is
    told how under "batch".
    """
    call = _call(queue, jobs, submitted_by, on_complete)
    policies: dict[str, UUID] = {}
    checked = [new_job(call.queue, fields, pointer=f"#/jobs/{n}", policies=policies) for n, fields in enumerate(jobs)]
    placed = enqueue_here(call.queue, checked, batch_id=call.id, submitted_by=submitted_by)
    return Submitted(_kept(call, placed), placed)


@transaction.atomic
def sift_batch(
    *,
    queue: Queue | str,
    jobs: Sequence[Mapping[str, Any]],
    submitted_by: UUID | None = None,
    on_complete: Mapping[str, Any] | None = None,
) -> Sifted:
    """The same, but jobs at fault are left out, each with what is wrong, and the others are made."""
    call = _call(queue, jobs, submitted_by, on_complete)
    checked, rejected = _checked(call.queue, jobs)
    placed: dict[int, Enqueued] = {}
    while checked and not placed:
        try:  # what only the database knows to be wrong: a parent or a workflow that is not there, or was cancelled
            with transaction.atomic():
                found = enqueue_here(call.queue, list(checked.values()), batch_id=call.id, submitted_by=submitted_by)
            placed = dict(zip(checked, found, strict=True))
        except FAULTS as error:
            rejected |= _by_place(error, list(checked))
            checked = {place: job for place, job in checked.items() if place not in rejected}
    return Sifted(_kept(call, list(placed.values())) if placed else None, placed, dict(sorted(rejected.items())))


def _call(
    queue: Queue | str, jobs: Sequence[Mapping[str, Any]], by: UUID | None, on_complete: Mapping[str, Any] | None
) -> _Call:
    place = queue_of(queue)
    if not 1 <= len(jobs) <= settings.BATCH_MAX:
        raise BadInput.at("#/jobs", f"Give between 1 and {settings.BATCH_MAX} jobs; this has {len(jobs)}.")
    after = None if on_complete is None else _follower(place, on_complete)
    refuse_when_full(place, jobs=len(jobs))
    return _Call(place, by, after)


def _checked(queue: Queue, jobs: Sequence[Mapping[str, Any]]) -> tuple[dict[int, NewJob], dict[int, Refusal]]:
    """Jobs by their place in the call, and those at fault."""
    policies: dict[str, UUID] = {}
    checked: dict[int, NewJob] = {}
    rejected: dict[int, Refusal] = {}
    for place, fields in enumerate(jobs):
        try:
            checked[place] = new_job(queue, fields, pointer=f"#/jobs/{place}", policies=policies)
        except FAULTS as fault:
            rejected[place] = fault
    return checked, rejected


def fault_of(queue: Queue, fields: Mapping[str, Any], place: int) -> Refusal:
    """What is wrong with a job that was rejected; what it names may have come since."""
    pointer = f"#/jobs/{place}"
    try:
        new_job(queue, fields, pointer=pointer, policies={})
    except FAULTS as fault:
        return fault
    return BadInput.at(pointer, "It names a job, a workflow or a worker that was not there, or took no more.")


def _by_place(error: Refusal, places: Sequence[int]) -> dict[int, Refusal]:
    """The faults of each job; the engine counts only those it was given. One that is of no job is raised again."""
    found: dict[int, list[Fault]] = {}
    for fault in error.errors:
        _, _, number, name = fault.pointer.split("/", 3)
        place = places[int(number)]
        found.setdefault(place, []).append(Fault(f"#/jobs/{place}/{name}", fault.detail))
    if not found:
        raise error
    return {
        place: type(error)(f"{faults[0].pointer}: {faults[0].detail}", errors=faults) for place, faults in found.items()
    }


def _kept(call: _Call, placed: Sequence[Enqueued]) -> Batch:
    """Its size is the number of jobs that were made for it: one that a unique key found belongs to somebody else."""
    return Batch.objects.create(
        id=call.id,
        project_id=call.queue.project_id,
        queue=call.queue,
        size=sum(one.is_new for one in placed),
        on_complete=call.after,
        submitted_by=call.submitted_by,
    )


def _follower(queue: Queue, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the job that follows, as they are kept until then."""
    if not isinstance(asked, Mapping):
        raise BadInput.at("#/on_complete", "This must be an object: a job.")
    for name in NOT_AFTER:
        if name in asked:
            raise BadInput.at(f"#/on_complete/{name}", "A job that follows a batch cannot have this.")
    payload = asked.get("payload", {})
    if not isinstance(payload, dict):
        raise BadInput.at("#/on_complete/payload", "This must be an object: it is told how the batch ended.")
    if "batch" in payload:
        raise BadInput.at("#/on_complete/payload/batch", "This is where it is told how the batch ended.")
    job = new_job(queue, asked, pointer="#/on_complete", policies={})
    policy = {"retry_policy": str(job.retry_policy_id)} if job.retry_policy_id else {}
    return {**asked, "payload": payload, **policy}
