"""Submit jobs."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response
from uuid_utils.compat import uuid7

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.once import Made, once
from apps.accounts.api.schema import tells
from apps.errors import BadInput, Fault, UnknownField, pointed
from apps.jobs import services
from apps.jobs.api import examples
from apps.jobs.engine.enqueue import Enqueued
from apps.jobs.models import Job
from apps.jobs.selectors import find, reachable_jobs
from apps.jobs.serializers import answers, bodies
from apps.queues import selectors
from apps.queues.models import Queue


class Submit(Endpoint):
    route = "queue-jobs"

    @tells(
        "Submit a job",
        ask=bodies.JobFields,
        answer=answers.ReceiptAnswer,
        status=201,
        asks=examples.ASK,
        example=examples.RECEIPT,
        keyed=True,
        refusals=(429,),
    )
    def post(self, request: Request, queue: UUID) -> Response:
        """Answers 200 with the live job that holds the unique key, if there is one. 429 `queue_full` with `depth` and
        `max_depth` where a queue with such a limit holds as many jobs as it may."""
        found = self.allow(selectors.submittable(self.caller, queue))
        job_id = uuid7()

        def make() -> Made:
            placed = services.submit_one(
                queue=found, fields=self.sent, submitted_by=self.caller.submitter_id, job_id=job_id
            )
            kind = str(self.sent["type"])
            return Made([placed.job_id], receipt(found, placed, kind), 201 if placed.is_new else 200)

        def show(ids: list[UUID]) -> dict[str, Any]:
            return receipt_of(find(ids[0], among=reachable_jobs(self.caller)))

        return once(request, scope_id=queue, make=make, show=show, ids=[job_id])


def jobs_of(body: dict[str, Any], *, besides: Collection[str] = ()) -> list[dict[str, Any]]:
    """The jobs of a body that may have some other fields."""
    unknown = [name for name in body if name != "jobs" and name not in besides]
    if unknown:
        faults = [Fault(f"#/{pointed(name)}", "There is no such field.") for name in unknown]
        raise UnknownField(f"There is no field {unknown[0]!r}.", errors=faults)
    jobs = body.get("jobs")
    if not isinstance(jobs, list):
        raise BadInput.at("#/jobs", "This must be a list of jobs.")
    for place, job in enumerate(jobs):
        if not isinstance(job, dict):
            raise BadInput.at(f"#/jobs/{place}", "This must be an object.")
    return jobs


def receipt(queue: Queue, placed: Enqueued, kind: str) -> dict[str, Any]:
    """Where a job that was just submitted waits."""
    return {"id": placed.job_id, "queue": queue.pk, "type": kind, "state": placed.state, "is_new": placed.is_new}


def receipt_of(job: Job) -> dict[str, Any]:
    """The same of one that was submitted before."""
    return {"id": job.pk, "queue": job.queue_id, "type": job.type, "state": job.state, "is_new": True}
