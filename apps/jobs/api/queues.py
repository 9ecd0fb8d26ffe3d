"""What happens to queues and touches their jobs."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.schema import tells
from apps.accounts.selectors import reach
from apps.jobs import services
from apps.jobs.api import examples
from apps.jobs.serializers import answers, bodies
from apps.queues import api as queues
from apps.queues import selectors
from apps.queues.serializers import QueueAnswer, SetBreaker


class OneQueue(queues.OneQueue):
    @tells("Delete a queue", status=204, query=bodies.Delete, refusals=(409,))
    def delete(self, request: Request, queue: UUID) -> Response:
        """Refused, with `counts` by state, while it has live jobs or dead letters; `cancel=true` cancels them. It is
        gone with the answer, and its name free: what waits is cancelled in the background, what runs is asked to stop."""
        found = self.reach(selectors.queues(self.caller), pk=queue)
        services.delete_queue(queue=found, actor=self.actor, **self.asked)
        return Response(status=204)


class ResumeQueue(Endpoint):
    route = "queue-resume"

    @tells("Resume a queue", ask=bodies.Nothing, answer=QueueAnswer, asks={}, example=queues.QUEUE)
    def post(self, request: Request, queue: UUID) -> Response:
        found = self.reach(selectors.queues(self.caller), pk=queue)
        self.body(bodies.Nothing)
        return Response(queues.shown(services.resume_queue(queue=found, actor=self.actor)))


class QueueBreaker(Endpoint):
    route = "queue-breaker"

    @tells(
        "Open or close a queue's breaker",
        ask=SetBreaker,
        answer=QueueAnswer,
        asks={"state": "open", "until": "2027-03-14T09:00:00Z"},
        example=queues.OPENED,
    )
    def post(self, request: Request, queue: UUID) -> Response:
        """Open: no claim that begins after the answer takes a job of it; at its end one job at a time may try, and the
        first that succeeds closes it. Closed: failures are counted anew."""
        found = self.reach(selectors.queues(self.caller), pk=queue)
        return Response(queues.shown(services.set_breaker(queue=found, actor=self.actor, **self.body(SetBreaker))))


class ResumeType(Endpoint):
    route = "project-type-resume"

    @tells(
        "Resume a job type",
        ask=bodies.Nothing,
        answer=answers.ResumedTypeAnswer,
        asks={},
        example={"type": "image.thumbnail", "was_paused": True},
    )
    def post(self, request: Request, project: UUID, type: str) -> Response:
        found = self.reach(reach.projects(self.caller), pk=project)
        self.body(bodies.Nothing)
        resumed = services.resume_type(project=found, type=type, actor=self.actor)
        return Response({"type": type, "was_paused": resumed})


class PurgeQueue(Endpoint):
    route = "queue-purge"

    @tells(
        "Cancel everything that is queued",
        ask=bodies.Nothing,
        answer=answers.PurgedAnswer,
        asks={},
        example={"cancelled": 12},
    )
    def post(self, request: Request, queue: UUID) -> Response:
        """Queued jobs only: what runs, is scheduled or waits for parents stays."""
        found = self.reach(selectors.queues(self.caller), pk=queue)
        self.body(bodies.Nothing)
        return Response({"cancelled": services.purge(queue=found, actor=self.actor)})


class ReplayQueue(Endpoint):
    route = "queue-dlq-replay"

    @tells(
        "Replay a queue's dead letters",
        ask=bodies.ReplayQueue,
        answer=answers.ReplayedAnswer,
        asks={"limit": 100, "rate_per_second": 5, "error_class": "OSError"},
        example={"replayed": 3, "full": False, "more": False, "skipped": [examples.JOB_ID], "upto": examples.JOB_ID},
    )
    def post(self, request: Request, queue: UUID) -> Response:
        """Oldest first, 100 unless said. At a rate, their times are spread. Those that something stands in the way of
        (cancelled descendants, a unique key that is held) are skipped and named; a call `after` the `upto` of the last one
        does not come to them again. It stops where `max_depth` would be
        passed, as far as the depth was last measured. All or nothing: a call that breaks off has replayed none."""
        found = self.reach(selectors.queues(self.caller), pk=queue)
        done = services.replay_queue(queue=found, actor=self.actor, **self.body(bodies.ReplayQueue))
        return Response(answers.ReplayedAnswer(done).data)
