"""Follow-up jobs: what a handler enqueues is checked where it says so, and kept until its success is reported."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.errors import BadInput
from apps.handlers import Publish
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.services.check import check
from apps.jobs.states import Placement
from apps.runtime.executor.run import Run

BYTES_MAX = 16 * 1024 * 1024  # of all payloads that one attempt publishes
ELSEWHERE = (
    "depends_on",
    "on_parent_failure",
    "retry_policy",
    "workflow",
    "required_worker",
)  # what is looked up in the database


def follow(run: Run, type: str, payload: Any, fields: Mapping[str, Any]) -> UUID:
    """Keep one job to be enqueued when this attempt succeeds; answers its id. Raises BadInput naming the field."""
    job = follower(run.claim.queue_id, run.claim.workflow_id, {**fields, "type": type, "payload": payload})
    _refuse_floods(run, job)
    run.follow.append(job)
    return job.id


def follower(queue_id: UUID, workflow_id: UUID | None, fields: Mapping[str, Any], *, pointer: str = "#") -> NewJob:
    """Check one job that follows another in its queue. Raises BadInput naming the field below `pointer`."""
    for name in ELSEWHERE:
        if name in fields:
            raise BadInput.at(f"{pointer}/{name}", "A follow-up job cannot have this; submit it instead.")
    ready = check(fields, pointer=pointer)
    delay = ready.pop("delay_seconds", None)
    if ready.get("placement") == Placement.DISPATCH and workflow_id is None:
        raise BadInput.at(f"{pointer}/placement", "Only a job of a workflow goes where its workflow goes.")
    if ready.get("placement") == Placement.ANY:
        ready |= {"placement": None, "anywhere": True}
    return NewJob(queue_id=queue_id, delay_ms=None if delay is None else round(delay * 1000), **ready)


def follow_all(run: Run, jobs: Iterable[Publish]) -> None:
    """Keep what a Result brings along."""
    for job in jobs:
        follow(run, job.type, job.payload, job.fields)


def _refuse_floods(run: Run, job: NewJob) -> None:
    if len(run.follow) >= settings.BATCH_MAX:
        raise BadInput.at("#", f"An attempt publishes at most {settings.BATCH_MAX} jobs.")
    run.followed += len(job.payload)
    if run.followed > BYTES_MAX:
        raise BadInput.at("#/payload", f"What an attempt publishes has at most {BYTES_MAX} bytes in all.")
