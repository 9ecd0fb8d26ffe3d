"""People decide about jobs that wait for their word. Each verb answers with the job as it is now."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.schema import tells
from apps.jobs import services
from apps.jobs.api import examples
from apps.jobs.api.verbs import Verb
from apps.jobs.serializers import answers, bodies


class Approve(Verb):
    route = "job-approve"

    @tells(
        "Approve a job",
        ask=bodies.Decide,
        answer=answers.JobAnswer,
        asks={"note": "looks right"},
        example=examples.QUEUED,
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """One that awaits approval: it is queued, or scheduled where its time lies ahead. Of two who decide at once
        one gets 409."""
        self.job(job)
        services.approve(job_id=job, actor=self.actor, **self.body(bodies.Decide))
        return Response(self.now(job))


class Reject(Verb):
    route = "job-reject"

    @tells(
        "Reject a job",
        ask=bodies.Decide,
        answer=answers.JobAnswer,
        asks={"note": "wrong customer"},
        example={**examples.JOB, "state": "cancelled", "reason": "rejected"},
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """One that awaits approval ends cancelled, the note kept; its dependents follow their rule for a failed
        parent."""
        self.job(job)
        services.reject(job_id=job, actor=self.actor, **self.body(bodies.Decide))
        return Response(self.now(job))
