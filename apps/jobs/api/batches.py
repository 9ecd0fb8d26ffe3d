"""Batches: submitted in one call, whole or sifted; shown, and cancelled."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.once import Made, once
from apps.accounts.api.schema import tells
from apps.errors import BadInput, NotFound, Refusal
from apps.jobs import services
from apps.jobs.api import examples
from apps.jobs.api.submit import jobs_of, receipt, receipt_of
from apps.jobs.models import Batch, Job
from apps.jobs.selectors.batches import progress_of, reachable_batches
from apps.jobs.serializers import answers, bodies
from apps.queues import selectors
from apps.queues.models import Queue

NOT_MADE = UUID(int=0)  # stands for a rejected job among the ids that an Idempotency-Key remembers
WAYS = ("reject_all", "reject_item")


class SubmitBatch(Endpoint):
    route = "queue-jobs-batch"

    @tells(
        "Submit up to a thousand jobs",
        ask=bodies.Batch,
        answer=answers.BatchReceiptAnswer,
        status=201,
        also=(202,),
        asks={"jobs": [examples.ASK], "on_complete": {"type": "album.publish", "payload": {"album": 7}}},
        example={"batch": examples.ID, "jobs": [examples.RECEIPT]},
        keyed=True,
        refusals=(409, 429),
    )
    def post(self, request: Request, queue: UUID) -> Response:
        """All or none; so also where they would fill a queue beyond its `max_depth` (429 `queue_full`). Faults point at
        `#/jobs/<n>/<field>`. With `on_error: "reject_item"` the answer is 202: jobs at fault are in `rejected`, each with
        its place in the call, and the others are made. `on_complete` is a job of the queue that is made once all have
        ended; under `batch`, its payload is told how many did how."""
        found = self.reach(selectors.with_depth(selectors.queues(self.caller)), pk=queue)
        jobs = jobs_of(self.sent, besides=("on_error", "on_complete"))
        way = self.sent.get("on_error") or WAYS[0]
        if way not in WAYS:
            raise BadInput.at("#/on_error", f"This must be one of {', '.join(WAYS)}.")
        call = {
            "queue": found,
            "jobs": jobs,
            "submitted_by": self.caller.submitter_id,
            "on_complete": self.sent.get("on_complete"),
        }
        make, show = (_sifts, _sifted_before) if way == WAYS[1] else (_submits, _submitted_before)
        return once(request, scope_id=queue, make=lambda: make(found, call), show=lambda ids: show(found, ids, jobs))


class OneBatch(Endpoint):
    route = "batch"

    @tells("Show a batch", answer=answers.BatchAnswer, example=examples.BATCH)
    def get(self, request: Request, batch: UUID) -> Response:
        """Its jobs by state, how far it is, and a guess of how long it will take yet."""
        return Response(shown(self.reach(reachable_batches(self.caller), pk=batch)))


class CancelBatch(Endpoint):
    route = "batch-cancel"

    @tells(
        "Cancel a batch",
        ask=bodies.Cancel,
        answer=answers.BatchAnswer,
        asks={"force": False},
        example={
            **examples.BATCH,
            "counts": {"completed": 6, "cancelled": 4},
            "percent": 100.0,
            "remaining_seconds": 0,
        },
        refusals=(409,),
    )
    def post(self, request: Request, batch: UUID) -> Response:
        """What waits ends at once, what runs is asked to stop; with `force` it is ended now. The job that follows the
        batch is made all the same. 409 where all has ended."""
        found = self.reach(reachable_batches(self.caller), pk=batch)
        services.cancel_batch(batch=found, actor=self.actor, **self.body(bodies.Cancel))
        return Response(shown(found))


def shown(batch: Batch) -> dict[str, Any]:
    """A batch as it is now."""
    far = progress_of(batch)
    facts = {**vars(batch), **{name: getattr(far, name) for name in far.__slots__}}
    return answers.BatchAnswer(facts).data


def _submits(queue: Queue, call: Mapping[str, Any]) -> Made:
    done = services.submit_batch(**call)
    receipts = [
        receipt(queue, placed, str(fields["type"])) for placed, fields in zip(done.jobs, call["jobs"], strict=True)
    ]
    return Made([done.batch.pk, *(placed.job_id for placed in done.jobs)], {"batch": done.batch.pk, "jobs": receipts})


def _sifts(queue: Queue, call: Mapping[str, Any]) -> Made:
    done = services.sift_batch(**call)
    jobs = call["jobs"]
    ids = [done.jobs[place].job_id if place in done.jobs else NOT_MADE for place in range(len(jobs))]
    batch_id = done.batch.pk if done.batch else None
    body = {
        "batch": batch_id,
        "jobs": [receipt(queue, placed, str(jobs[place]["type"])) for place, placed in done.jobs.items()],
        "rejected": [_rejected(place, error) for place, error in done.rejected.items()],
    }
    return Made([batch_id or NOT_MADE, *ids], body, status=202)


def _rejected(place: int, error: Refusal) -> dict[str, Any]:
    faults = [{"pointer": fault.pointer, "detail": fault.detail} for fault in error.errors]
    return {"index": place, "error": {"code": error.code, "detail": str(error), "errors": faults}}


def _submitted_before(queue: Queue, ids: list[UUID], jobs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"batch": ids[0], "jobs": _receipts_of(queue, ids[1:])}


def _sifted_before(queue: Queue, ids: list[UUID], jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """What was rejected is not kept: it is checked again, and what only the database knew is told in general."""
    made = [job_id for job_id in ids[1:] if job_id != NOT_MADE]
    rejected = [
        _rejected(place, services.fault_of(queue, fields, place))
        for place, (job_id, fields) in enumerate(zip(ids[1:], jobs, strict=True))
        if job_id == NOT_MADE
    ]
    batch_id = None if ids[0] == NOT_MADE else ids[0]
    return {"batch": batch_id, "jobs": _receipts_of(queue, made), "rejected": rejected}


def _receipts_of(queue: Queue, ids: list[UUID]) -> list[dict[str, Any]]:
    """What a batch made, as it is now; NotFound once any of it has been pruned."""
    known = {job.pk: job for job in Job.objects.filter(queue=queue, id__in=ids).defer("payload", "result")}
    if known.keys() != set(ids):
        raise NotFound
    return [receipt_of(known[job_id]) for job_id in ids]
