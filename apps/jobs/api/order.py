"""Operators put waiting jobs in order, and hold them back. Each verb answers with the job as it is now."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.schema import tells
from apps.jobs import services
from apps.jobs.api import examples
from apps.jobs.api.verbs import Verb
from apps.jobs.serializers import answers, bodies


class Pause(Verb):
    route = "job-pause"

    @tells(
        "Pause a job",
        ask=bodies.PauseJob,
        answer=answers.JobAnswer,
        asks={"reason": "the customer asked"},
        example={**examples.QUEUED, "state": "paused"},
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """One that waits, for whatever it waits: no claim that begins after the answer takes it."""
        self.job(job)
        services.pause_job(job_id=job, actor=self.actor, **self.body(bodies.PauseJob))
        return Response(self.now(job))


class Resume(Verb):
    route = "job-resume"

    @tells(
        "Resume a job", ask=bodies.Nothing, answer=answers.JobAnswer, asks={}, example=examples.QUEUED, refusals=(409,)
    )
    def post(self, request: Request, job: UUID) -> Response:
        """It goes on from the state it was paused in, with the place in line it had."""
        self.job(job)
        self.body(bodies.Nothing)
        services.resume_job(job_id=job, actor=self.actor)
        return Response(self.now(job))


class Reschedule(Verb):
    route = "job-reschedule"

    @tells(
        "Change when a job runs",
        ask=bodies.Reschedule,
        answer=answers.JobAnswer,
        asks={"run_at": "2027-03-14T09:00:00Z"},
        example={**examples.QUEUED, "state": "scheduled", "run_at": "2027-03-14T09:00:00Z"},
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """One that waits. Its place in line follows its new time."""
        self.job(job)
        services.reschedule(job_id=job, actor=self.actor, **self.body(bodies.Reschedule))
        return Response(self.now(job))


class Priority(Verb):
    route = "job-priority"

    @tells(
        "Change a job's priority",
        ask=bodies.Priority,
        answer=answers.JobAnswer,
        asks={"priority": 10},
        example={**examples.QUEUED, "priority": 10},
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """One that waits. It stands where it would had it been submitted so."""
        self.job(job)
        services.set_priority(job_id=job, actor=self.actor, **self.body(bodies.Priority))
        return Response(self.now(job))


class Move(Verb):
    route = "job-move"

    @tells(
        "Move a job in line",
        ask=bodies.Move,
        answer=answers.JobAnswer,
        asks={"to": "up"},
        example=examples.QUEUED,
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """One that is queued, among those of its queue, priority and target worker."""
        self.job(job)
        services.move(job_id=job, actor=self.actor, **self.body(bodies.Move))
        return Response(self.now(job))


class RunNext(Verb):
    route = "job-run-next"

    @tells(
        "Run a job next",
        ask=bodies.Nothing,
        answer=answers.JobAnswer,
        asks={},
        example=examples.QUEUED,
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """One that is queued, scheduled or waits for a retry: before all others of its queue, whatever their priority."""
        self.job(job)
        self.body(bodies.Nothing)
        services.run_next(job_id=job, actor=self.actor)
        return Response(self.now(job))


class Reassign(Verb):
    route = "job-reassign"

    @tells(
        "Reassign a job",
        ask=bodies.Reassign,
        answer=answers.JobAnswer,
        asks={"worker": "press-2"},
        example={**examples.QUEUED, "required_worker": "press-2"},
        refusals=(409,),
    )
    def post(self, request: Request, job: UUID) -> Response:
        """One that waits: no worker but this one takes it from now on. One that goes where its workflow goes is
        refused; the workflow is reassigned as a whole."""
        self.job(job)
        services.reassign(job_id=job, actor=self.actor, **self.body(bodies.Reassign))
        return Response(self.now(job))
