"""Make jobs: one, or a thousand in a statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from uuid_utils.compat import uuid7

from apps.errors import Conflict, NotFound
from apps.jobs.engine import enqueue_parents as family
from apps.jobs.states import JobState
from apps.sql import Statement, Steps

SNOOZES = 100  # a job may ask to be run later so often
SEPARATOR = "\x1f"  # of payloads: a control character, which JSON text cannot hold
TRIES = 5  # at reading the holder of a unique key that ends while we look


@dataclass(slots=True, kw_only=True)  # not frozen: that makes each of a thousand three times as dear
class NewJob:
    """What to enqueue. `payload` and `labels` are JSON texts, checked at the door (apps/jobs/services).

    `run_at` (aware) and `delay_ms` add up to nothing: the later one counts, never before now.
    None leaves a field to the queue, its retry policy or the default.
    """

    queue_id: UUID
    type: str
    payload: str = "{}"
    id: UUID = field(default_factory=uuid7)
    priority: int | None = None
    run_at: datetime | None = None
    delay_ms: int | None = None
    timeout_ms: int | None = None
    retry_policy_id: UUID | None = None
    max_attempts: int | None = None
    max_losses: int | None = None
    max_snoozes: int | None = None
    depends_on: Sequence[UUID] = ()
    waits_for: Sequence[int] = ()  # places of jobs of the same call, each once
    on_parent_failure: str | None = None
    unique_key: str | None = None
    concurrency_key: str | None = None
    labels: str | None = None
    requires_approval: bool = False
    schedule_id: UUID | None = None  # the schedule that makes it
    workflow_id: UUID | None = None  # the caller holds it (join_workflows.sql)
    placement: str | None = None  # None: on any worker
    required_worker: UUID | None = None
    anywhere: bool = False  # it said so: its workflow's affinity is not for it


class Enqueued(NamedTuple):
    """Where a job now waits; `is_new` is False for a live job that already held the unique key.

    The rest is what the database decided, told of a job that was enqueued alone.
    """

    job_id: UUID
    state: str
    is_new: bool = True
    created_at: datetime | None = None
    run_at: datetime | None = None
    rank: int | None = None
    ranked_aging: int | None = None
    priority: int | None = None
    max_attempts: int | None = None
    max_losses: int | None = None


@dataclass(frozen=True, slots=True)
class _Holder:
    queue_id: UUID
    unique_key: str
    job_id: UUID
    state: str


_enqueue = Statement.beside(__file__, Enqueued)
_enqueue_one = Statement.beside(__file__, Enqueued, "enqueue_one")
_holders = Statement.beside(__file__, _Holder, "enqueue_holders")


def enqueue(
    jobs: Sequence[NewJob],
    *,
    batch_id: UUID | None = None,
    submitted_by: UUID | None = None,
    request_id: str | None = None,
    pointer: str = "#/jobs/{}",
) -> list[Enqueued]:
    """Enqueue up to a thousand jobs at once, in the caller's transaction; answers in their order.

    A job whose unique key is held by a live one is not made; that one is answered. Unknown parents
    raise BadInput at `pointer`/depends_on of the n-th job.
    """
    origin = {"batch_id": batch_id, "submitted_by": submitted_by, "request_id": request_id}
    if any(job.depends_on or job.unique_key is not None or job.waits_for for job in jobs):
        with transaction.atomic():
            return _with_ties_and_keys(jobs, origin, pointer)
    if len(jobs) == 1:
        rows = _enqueue_one(**_values(jobs[0]), **origin)
    else:
        rows = _place(jobs, family.Ties(), origin)  # one statement is atomic by itself
    placed = {row.job_id: row for row in rows}
    if len(placed) < len(jobs):
        raise NotFound("The queue has just been deleted.")
    return [placed[job.id] for job in jobs]


def follow_steps(jobs: Sequence[NewJob], *, request_id: str | None) -> Steps[list[Enqueued]]:
    """Enqueue jobs without parents from inside another verb; one whose unique key is held is not made."""
    origin = {"batch_id": None, "submitted_by": None, "request_id": request_id}
    return (yield from _enqueue.ask(**_columns(jobs, family.Ties()), **origin, whole=False))


def _with_ties_and_keys(jobs: Sequence[NewJob], origin: Mapping[str, object], pointer: str) -> list[Enqueued]:
    ties = family.look_up(jobs, pointer=pointer)
    placed: dict[UUID, Enqueued] = {}
    left = jobs
    for _ in range(TRIES):
        rows = _place(left, ties, origin)
        placed.update((row.job_id, row) for row in rows)
        if len(rows) == len(left):
            break
        left = _collided(left, placed)
        if not left:
            break
    else:
        raise Conflict("The holder of a unique key kept changing; try again.")
    doomed = family.tie(jobs, ties, {job.id for job in jobs if placed[job.id].is_new})
    placed.update((job_id, Enqueued(job_id, JobState.CANCELLED)) for job_id in doomed & placed.keys())
    return [placed[job.id] for job in jobs]


def _place(jobs: Sequence[NewJob], ties: family.Ties, origin: Mapping[str, object]) -> list[Enqueued]:
    return _enqueue(**_columns(jobs, ties), **origin, whole=len(jobs) == 1)


def _collided(jobs: Sequence[NewJob], placed: dict[UUID, Enqueued]) -> list[NewJob]:
    """Find who holds the keys of the jobs that were not placed; answer those still without a holder."""
    missing = [job for job in jobs if job.id not in placed]
    found = _holders(
        queue_ids=[job.queue_id for job in missing],
        unique_keys=[job.unique_key for job in missing],
    )
    holders = {(row.queue_id, row.unique_key): row for row in found}
    for job in missing:
        holder = holders.get((job.queue_id, job.unique_key or ""))
        if holder:
            placed[job.id] = Enqueued(holder.job_id, holder.state, is_new=False)
    return [job for job in missing if job.id not in placed]


def _columns(jobs: Sequence[NewJob], ties: family.Ties) -> dict[str, object]:
    """Turn jobs into columns; a column that is empty for all is sent as NULL."""
    return {
        "ids": " ".join([job.id.hex for job in jobs]),
        "queue_ids": " ".join([job.queue_id.hex for job in jobs]),
        "types": [job.type for job in jobs],
        "payloads": SEPARATOR.join([job.payload for job in jobs]),
        "priorities": _column([job.priority for job in jobs]),
        "run_ats": _column([job.run_at for job in jobs]),
        "delays_ms": _column([job.delay_ms for job in jobs]),
        "timeouts_ms": _column([job.timeout_ms for job in jobs]),
        "policies": _column([job.retry_policy_id for job in jobs]),
        "max_attempts": _column([job.max_attempts for job in jobs]),
        "max_losses": _column([job.max_losses for job in jobs]),
        "max_snoozes": _column([job.max_snoozes for job in jobs]),
        "pendings": _column([ties.pending(job) for job in jobs]),
        "on_failures": _column([job.on_parent_failure for job in jobs]),
        "unique_keys": _column([job.unique_key for job in jobs]),
        "concurrency_keys": _column([job.concurrency_key for job in jobs]),
        "labels": _column([job.labels for job in jobs]),
        "approvals": _column([job.requires_approval or None for job in jobs]),
        "schedules": _column([job.schedule_id for job in jobs]),
        "workflows": _column([job.workflow_id for job in jobs]),
        "dependents": _dependents(jobs),
        "placements": _column([job.placement for job in jobs]),
        "workers": _column([job.required_worker for job in jobs]),
        **_defaults(),
    }


def _column(values: list[object]) -> list[object] | None:
    return values if any(value is not None for value in values) else None


def _dependents(jobs: Sequence[NewJob]) -> list[bool] | None:
    """Which jobs others of the same call wait for."""
    parents = set().union(*[job.waits_for for job in jobs if job.waits_for])
    return [place in parents for place in range(len(jobs))] if parents else None


def _values(job: NewJob) -> dict[str, object]:
    return {
        "id": job.id,
        "queue_id": job.queue_id,
        "type": job.type,
        "payload": job.payload,
        "priority": job.priority,
        "run_at": job.run_at,
        "delay_ms": job.delay_ms,
        "timeout_ms": job.timeout_ms,
        "policy": job.retry_policy_id,
        "max_attempts": job.max_attempts,
        "max_losses": job.max_losses,
        "on_failure": job.on_parent_failure,
        "concurrency_key": job.concurrency_key,
        "labels": job.labels,
        "approval": job.requires_approval,
        "schedule_id": job.schedule_id,
        "workflow_id": job.workflow_id,
        "placement": job.placement,
        "worker": job.required_worker,
        **_defaults(),
        **({} if job.max_snoozes is None else {"snoozes": job.max_snoozes}),
    }


def _defaults() -> dict[str, object]:
    intervals = settings.JOB_RETRY_INTERVALS
    return {"snoozes": SNOOZES, "default_attempts": len(intervals) + 1 if intervals else 5}
