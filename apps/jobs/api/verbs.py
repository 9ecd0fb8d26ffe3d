"""What people do with jobs that are there already. Each answers with the job as it is now."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.schema import tells
from apps.jobs import services
from apps.jobs.api import examples, shown
from apps.jobs.models import Job
from apps.jobs.selectors import find, reachable_jobs
from apps.jobs.serializers import answers, bodies


class Verb(Endpoint):
    """POST on one job."""

    def job(self, job_id: UUID) -> Job:
        return self.allow(find(job_id, among=reachable_jobs(self.caller)))

    def now(self, job_id: UUID) -> dict[str, Any]:
        return shown.brief(self.job(job_id))


class Cancel(Verb):
    route = "job-cancel"

    @tells(
        "Cancel a job",
        ask=bodies.Cancel,
        answer=answers.CancelledAnswer,
        asks={"force": False},
        example=examples.CANCELLED,
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """A waiting job ends at once; a running one is asked to stop, and is never retried. With `force` its
        attempt ends now and the worker's report will not count."""
        self.job(job)
        done = services.cancel(job_id=job, actor=self.actor, **self.body(bodies.Cancel))
        return Response(shown.cancelled(self.job(job), cancelling=done.cancelling))


class Retry(Verb):
    route = "job-retry"

    @tells(
        "Run a waiting job now",
        ask=bodies.Nothing,
        answer=answers.JobAnswer,
        asks={},
        example={**examples.JOB, "state": "queued"},
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """One that is scheduled, or waits for its next attempt."""
        self.job(job)
        self.body(bodies.Nothing)
        services.retry_now(job_id=job, actor=self.actor)
        return Response(self.now(job))


class Replay(Verb):
    route = "job-replay"

    @tells(
        "Replay a dead letter",
        ask=bodies.Replay,
        answer=answers.JobAnswer,
        asks={"revive_descendants": True},
        example={**examples.JOB, "state": "queued"},
        refusals=(409, 410),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """Runs it again as a new generation, with another `payload` if one is given; its history stays, and the payload
        it had is in `earlier_payloads`. Refused while cancelled descendants would be left
        behind, unless they are revived too, and while a live job has its unique key."""
        self.job(job)
        services.replay(job_id=job, actor=self.actor, **self.body(bodies.Replay))
        return Response(self.now(job))


class ReplayDeadLetter(Replay):
    route = "dlq-job-replay"


class DeadLetter(Verb):
    route = "dlq-job"

    @tells("Discard a dead letter", status=204, refusals=(409,))
    def delete(self, request: Request, job: UUID) -> Response:
        """It is gone for good; its attempts stay in the ledger until they are pruned."""
        self.job(job)
        services.discard(job_id=job, actor=self.actor)
        return Response(status=204)
