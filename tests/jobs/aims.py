"""Workers that jobs wait for, workflows that go where their first job went, and what those workers are handed."""

import json
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.jobs.engine.aim import aim
from apps.jobs.engine.claim import Claim, claim
from apps.jobs.engine.claim_aimed import claim_aimed
from apps.jobs.engine.claim_gated import claim_gated
from apps.jobs.models import Job, Workflow
from apps.queues.models import Queue
from apps.workers.models import Session
from tests import acts
from tests.jobs.looks import run


def aimed(session: Session, *queues: Queue, limit: int = 10, types: tuple[str, ...] = ("ping",)) -> list[Claim]:
    """What a session is handed of the open lines and of its worker's."""
    return claim_aimed(
        session_id=session.pk, queues=[queue.pk for queue in queues], offers=dict.fromkeys(types), limit=limit
    ).jobs


def open_only(session: Session, queue: Queue) -> list[Claim]:
    return claim(session_id=session.pk, queues=[queue.pk], offers=acts.OFFERS, limit=10).jobs


def gated(session: Session, queue: Queue, *, limit: int = 10) -> list[Claim]:
    """The same of a queue with limits."""
    return claim_gated(session_id=session.pk, queue_id=queue.pk, offers=acts.OFFERS, limit=limit, aimed=True).jobs


@transaction.atomic
def workflow(
    queue: Queue,
    *,
    type: str = acts.PING,
    jobs: int = 2,
    placement: str | None = "dispatch",
    payload: Any = None,
    **fields: Any,
) -> tuple[Workflow, list[UUID]]:
    """A workflow of some jobs that may all run at once."""
    said = json.dumps(payload or {})
    made = Workflow.objects.create(project=queue.project, **fields)
    return made, [join(made, queue, type=type, payload=said, placement=placement) for _ in range(jobs)]


@transaction.atomic
def join(workflow: Workflow, queue: Queue, *, placement: str | None = "dispatch", **fields: Any) -> UUID:
    """One more job of a workflow."""
    job_id = acts.enqueue(queue, placement=placement, **fields)
    run("UPDATE jobs_job_live SET workflow_id = %s WHERE id = %s", [workflow.pk, job_id])
    aim(ids=[job_id])
    return job_id


def targets(*ids: UUID) -> list[UUID | None]:
    found = dict(Job.objects.filter(shelved_on=None, id__in=ids).values_list("id", "target"))
    return [found[one] for one in ids]


def ids(taken: list[Claim]) -> set[UUID]:
    return {one.job_id for one in taken}
