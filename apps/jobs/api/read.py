"""Read jobs, their logs, dead letters and workers."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.paging import Pager
from apps.accounts.api.schema import tells
from apps.accounts.models import Project
from apps.accounts.serializers.accounts import page_of
from apps.errors import BadInput
from apps.jobs import services
from apps.jobs.api import examples, shown
from apps.jobs.engine.list_dead import list_dead
from apps.jobs.engine.list_jobs import Filter, Window, list_jobs
from apps.jobs.selectors import detail, find, reachable_jobs
from apps.jobs.selectors.fleet import Member, members, pools_of, serving
from apps.jobs.serializers import answers, bodies
from apps.jobs.states import JobState
from apps.queues import selectors
from apps.queues.models import Queue


class Somewhere(Endpoint):
    """A list that is asked of one project, or of one queue, which may name its project besides."""

    def where(self) -> tuple[UUID, Project, list[UUID]]:
        """What the cursors are bound to, the project, and the queues to look in."""
        project, queue = self.asked.get("project"), self.asked.get("queue")
        if queue:
            within = {} if project is None else {"project": project}
            found: Queue = self.reach(selectors.queues(self.caller), pk=queue, **within)
            return queue, found.project, [queue]
        if project is None:
            raise BadInput.at("?project", "Name a project or a queue.")
        home = self.reach(selectors.projects_with_queues(self.caller), pk=project)
        return home.pk, home, home.queue_ids  # type: ignore[attr-defined]


class Jobs(Somewhere):
    route = "jobs"

    @tells(
        "List jobs",
        answer=page_of(answers.JobAnswer),
        example=examples.page(examples.JOB),
        query=bodies.JobsQuery,
        paged=True,
    )
    def get(self, request: Request) -> Response:
        """Newest first, of one project or one queue; without payloads, results and counts."""
        within = _filter(self.asked)
        scope, _, queue_ids = self.where()
        pager = Pager(request, within=scope)
        page = pager.page
        window = Window(limit=page.limit + 1, older_than=page.older_than, newer_than=page.newer_than, within=within)
        found = list_jobs(queue_ids=queue_ids, window=window)
        return Response(pager.answer(found, shown.listed, lambda job: job.id))


class OneJob(Endpoint):
    route = "job"

    @tells("Show a job", answer=answers.JobDetailAnswer, example=examples.DETAIL)
    def get(self, request: Request, job: UUID) -> Response:
        """With its attempts and their logs, parents, children, progress, lease and files; and why it waits, if it does."""
        found = self.allow(find(job, among=reachable_jobs(self.caller)))
        return Response(shown.whole(found, self.role))

    @tells(
        "Change whom a job waits for",
        ask=bodies.ChangeJob,
        answer=answers.JobAnswer,
        asks={"depends_on": [examples.JOB_ID]},
        example={**examples.JOB, "state": "blocked"},
        refusals=(409,),
    )
    def patch(self, request: Request, job: UUID) -> Response:
        """One that has not been started. It waits for these jobs and no others, blocked while any of them has not ended;
        one that has ended counts by its outcome, as for a job that is submitted. A circle is refused, and named."""
        self.allow(find(job, among=reachable_jobs(self.caller)))
        services.set_parents(job_id=job, actor=self.actor, **self.body(bodies.ChangeJob))
        return Response(shown.brief(self.allow(find(job, among=reachable_jobs(self.caller)))))


class Logs(Endpoint):
    route = "job-logs"

    @tells(
        "Read a job's log",
        answer=answers.LogsAnswer,
        example={"results": [examples.LINE], "next": None},
        query=bodies.LogsQuery,
    )
    def get(self, request: Request, job: UUID) -> Response:
        """Oldest line first; `after` takes the `next` of the page before."""
        found = self.allow(find(job, among=reachable_jobs(self.caller)))
        lines, more = detail.log_page(found, after=self.asked.get("after"), limit=self.asked.get("limit", 200))
        last = lines[-1] if lines else None
        told = answers.LogLineAnswer(lines, many=True).data
        return Response({"results": told, "next": f"{last.fence}.{last.line}" if last and more else None})


class DeadLetters(Somewhere):
    route = "dlq"

    @tells(
        "List dead letters",
        answer=page_of(answers.DeadAnswer),
        example=examples.page(examples.DEAD),
        query=bodies.DeadQuery,
        paged=True,
    )
    def get(self, request: Request) -> Response:
        scope, _, queue_ids = self.where()
        pager = Pager(request, within=scope)
        page = pager.page
        found = list_dead(
            queue_ids=queue_ids,
            limit=page.limit + 1,
            older_than=page.older_than,
            newer_than=page.newer_than,
            error_class=self.asked.get("error_class"),
        )
        return Response(pager.answer(found, lambda dead: answers.DeadAnswer(dead).data, lambda dead: dead.id))


class Workers(Somewhere):
    route = "workers"

    @tells(
        "List workers",
        answer=page_of(answers.WorkerAnswer),
        example=examples.page(examples.WORKER),
        query=bodies.WhereQuery,
        paged=True,
    )
    def get(self, request: Request) -> Response:
        """Those that serve the queues asked about, the youngest name first; of the jobs they hold, yours are counted."""
        scope, project, queue_ids = self.where()
        pager = Pager(request, within=scope)
        found = pager.rows(serving(project=project, queue_ids=queue_ids), key="worker_id")
        return Response(pager.answer(members(found, queue_ids), _worker, lambda one: one.session.worker_id))


def _filter(asked: dict[str, Any]) -> Filter:
    return Filter(
        states=_states(asked.get("state")),
        types=asked["type"].split(",") if "type" in asked else None,
        labels=_label(asked.get("label")),
        workflow=asked.get("workflow"),
        batch=asked.get("batch"),
        created_after=asked.get("created_after"),
        created_before=asked.get("created_before"),
    )


def _states(given: str | None) -> list[str] | None:
    if given is None:
        return None
    unknown = [state for state in given.split(",") if state not in JobState.values]
    if unknown:
        raise BadInput.at("?state", f"There is no state {unknown[0]!r}; known are {', '.join(JobState.values)}.")
    return given.split(",")


def _label(given: str | None) -> dict[str, str] | None:
    if given is None:
        return None
    name, colon, text = given.partition(":")
    if not name or not colon:
        raise BadInput.at("?label", "Write it as name:text.")
    return {name: text}


def _worker(member: Member) -> dict[str, Any]:
    session = member.session
    told = {
        **vars(session),
        "uid": session.worker.uid,
        "state": member.state,
        "pools": pools_of(session),
        "held_jobs": member.held_jobs,
        "last_seen_at": session.heartbeat_at,
    }
    return answers.WorkerAnswer(told).data
