"""One worker: show it, take it out of service, put it back."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.schema import tells
from apps.errors import Forbidden
from apps.jobs.api import examples
from apps.jobs.selectors.fleet import pools_of, state_of
from apps.jobs.selectors.workers import Seen, held_jobs, worker_seen
from apps.jobs.serializers import bodies
from apps.jobs.serializers.workers import OneWorkerAnswer
from apps.workers import services

HELD = {"id": examples.ID, "queue": examples.ID, "type": "image.thumbnail", "started_at": examples.AT, "attempt": 1}
WORKER = {
    **examples.WORKER,
    "drained": False,
    "queues": [examples.ID],
    "jobs": [HELD],
}
DRAINED = {**WORKER, "state": "draining", "drained": True}


class Somebody(Endpoint):
    """A path that names a worker."""

    def seen(self, uid: str) -> Seen:
        """It, if it serves a queue of the caller's and their role there allows this."""
        found = worker_seen(uid=uid, caller=self.caller)
        self.allow(found.projects[0])
        return found


class OneWorker(Somebody):
    route = "worker"

    @tells("Show a worker", answer=OneWorkerAnswer, example=WORKER)
    def get(self, request: Request, worker: str) -> Response:
        """By its last session. Of the queues it serves and the jobs it runs, yours; 404 for one that serves none of yours."""
        return Response(_shown(self.seen(worker)))


class Steered(Somebody):
    """A worker that the caller may take out of service: nobody else's jobs run on it, or they are staff."""

    def steered(self, uid: str) -> dict[str, Any]:
        """The worker and whom to tell, for a service."""
        seen = self.seen(uid)
        self.body(bodies.Nothing)
        if seen.serves_others and not self.caller.user.is_staff:
            raise Forbidden("This worker serves others too: only staff may do this.")
        return {
            "worker": seen.session.worker,
            "actor": self.actor,
            "organization_id": seen.projects[0].organization_id,
            "projects": [project.pk for project in seen.projects],
        }


class DrainWorker(Steered):
    route = "worker-drain"

    @tells("Drain a worker", ask=bodies.Nothing, answer=OneWorkerAnswer, asks={}, example=DRAINED)
    def post(self, request: Request, worker: str) -> Response:
        """It takes no new jobs from its next heartbeat on, this process or any later one of its name; what runs goes on.
        One that serves others' queues as well is drained by staff alone."""
        services.drain(**self.steered(worker))
        return Response(_shown(self.seen(worker)))


class ResumeWorker(Steered):
    route = "worker-resume"

    @tells("Put a worker back to work", ask=bodies.Nothing, answer=OneWorkerAnswer, asks={}, example=WORKER)
    def post(self, request: Request, worker: str) -> Response:
        services.resume(**self.steered(worker))
        return Response(_shown(self.seen(worker)))


def _shown(seen: Seen) -> dict[str, Any]:
    session, held = seen.session, held_jobs(seen)
    told = {
        **vars(session),
        "uid": session.worker.uid,
        "state": state_of(session),
        "pools": pools_of(session),
        "held_jobs": len(held),
        "last_seen_at": session.heartbeat_at,
        "drained": session.worker.drained_at is not None,
        "queues": seen.queue_ids,
        "jobs": held,
    }
    return OneWorkerAnswer(told).data
