"""Submit a job again as a new one."""

from typing import Any
from uuid import UUID

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response
from uuid_utils.compat import uuid7

from apps.accounts.api.once import Made, once
from apps.accounts.api.schema import tells
from apps.jobs import services
from apps.jobs.api import examples
from apps.jobs.api.verbs import Verb
from apps.jobs.serializers import answers, bodies


class Duplicate(Verb):
    route = "job-duplicate"

    @tells(
        "Duplicate a job",
        ask=bodies.Duplicate,
        answer=answers.JobAnswer,
        status=201,
        asks={"payload": {"path": "b.png"}, "priority": 7},
        example={**examples.QUEUED, "priority": 7},
        keyed=True,
        refusals=(429,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """A new job of the same queue with the same fields, from one in any state; `payload`, `priority` and `run_at` may
        be others. It has no parents, no unique key and no batch, and is due now unless said. `Location` says where it is."""
        source = self.job(job)
        asked = self.body(bodies.Duplicate)
        new_id = uuid7()

        def make() -> Made:
            services.duplicate(job_id=job, actor=self.actor, new_id=new_id, **asked)
            return Made([new_id], self.now(new_id))

        def show(ids: list[UUID]) -> dict[str, Any]:
            return self.now(ids[0])

        answer = once(request, scope_id=source.queue_id, make=make, show=show, ids=[new_id])
        answer["Location"] = reverse("job", args=[answer.data["id"]])
        return answer
