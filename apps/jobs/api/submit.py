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
from apps.errors import BadInput, Fault, NotFound, UnknownField
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
        found = self.reach(selectors.with_depth(selectors.queues(self.caller)), pk=queue)
        job_id = uuid7()

        def make() -> Made:
            placed = services.submit_one(
                queue=found, fields=self.sent, submitted_by=self.caller.submitter_id, job_id=job_id
            )
            kind = str(self.sent["type"])
            return Made([placed.job_id], _receipt(found, placed, kind), 201 if placed.is_new else 200)

        def show(ids: list[UUID]) -> dict[str, Any]:
            return _receipt_of(find(ids[0], among=reachable_jobs(self.caller)))

        return once(request, scope_id=queue, make=make, show=show, ids=[job_id])


class SubmitBatch(Endpoint):
    route = "queue-jobs-batch"

    @tells(
        "Submit up to a thousand jobs",
        ask=bodies.Batch,
        answer=answers.BatchReceiptAnswer,
        status=201,
        asks={"jobs": [examples.ASK]},
        example={"batch": examples.ID, "jobs": [examples.RECEIPT]},
        keyed=True,
        refusals=(429,),
    )
    def post(self, request: Request, queue: UUID) -> Response:
        """All or none; so also where they would fill a queue beyond its `max_depth` (429 `queue_full`). Faults point at
        `#/jobs/<n>/<field>`."""
        found = self.reach(selectors.with_depth(selectors.queues(self.caller)), pk=queue)
        jobs = jobs_of(self.sent)

        def make() -> Made:
            done = services.submit_batch(queue=found, jobs=jobs, submitted_by=self.caller.submitter_id)
            receipts = [
                _receipt(found, placed, str(fields["type"])) for placed, fields in zip(done.jobs, jobs, strict=True)
            ]
            ids = [done.batch.pk, *(placed.job_id for placed in done.jobs)]
            return Made(ids, {"batch": done.batch.pk, "jobs": receipts})

        def show(ids: list[UUID]) -> dict[str, Any]:
            return {"batch": ids[0], "jobs": _receipts_of(found, ids[1:])}

        return once(request, scope_id=queue, make=make, show=show)


def jobs_of(body: dict[str, Any], *, besides: Collection[str] = ()) -> list[dict[str, Any]]:
    """The jobs of a body that may have some other fields."""
    unknown = [name for name in body if name != "jobs" and name not in besides]
    if unknown:
        faults = [Fault(f"#/{name}", "There is no such field.") for name in unknown]
        raise UnknownField(f"There is no field {unknown[0]!r}.", errors=faults)
    jobs = body.get("jobs")
    if not isinstance(jobs, list):
        raise BadInput.at("#/jobs", "This must be a list of jobs.")
    for place, job in enumerate(jobs):
        if not isinstance(job, dict):
            raise BadInput.at(f"#/jobs/{place}", "This must be an object.")
    return jobs


def _receipt(queue: Queue, placed: Enqueued, kind: str) -> dict[str, Any]:
    return {"id": placed.job_id, "queue": queue.pk, "type": kind, "state": placed.state, "is_new": placed.is_new}


def _receipt_of(job: Job) -> dict[str, Any]:
    return {"id": job.pk, "queue": job.queue_id, "type": job.type, "state": job.state, "is_new": True}


def _receipts_of(queue: Queue, ids: list[UUID]) -> list[dict[str, Any]]:
    """What a batch made, as it is now; NotFound once any of it has been pruned."""
    known = {job.pk: job for job in Job.objects.filter(queue=queue, id__in=ids).defer("payload", "result")}
    if known.keys() != set(ids):
        raise NotFound
    return [_receipt_of(known[job_id]) for job_id in ids]
