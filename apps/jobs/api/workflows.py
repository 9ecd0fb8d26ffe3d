"""Workflows: submitted whole, listed, shown with their graph, and steered as one thing."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.once import Made, once
from apps.accounts.api.paging import Pager
from apps.accounts.api.schema import tells
from apps.accounts.models import Role
from apps.accounts.selectors import reach
from apps.accounts.serializers.accounts import page_of
from apps.errors import Forbidden, NotFound
from apps.jobs import services
from apps.jobs.api import examples
from apps.jobs.api.submit import jobs_of
from apps.jobs.engine.list_steps import ListedStep
from apps.jobs.models import Job, Step, Workflow
from apps.jobs.selectors import workflows as reads
from apps.jobs.selectors.targets import names
from apps.jobs.serializers import workflows as told
from apps.jobs.services.workflow import Begun

type Workers = Mapping[UUID | None, str]


class Workflows(Endpoint):
    route = "project-workflows"

    @tells(
        "List workflows",
        answer=page_of(told.WorkflowAnswer),
        example=examples.page(examples.WORKFLOW),
        paged=True,
    )
    def get(self, request: Request, project: UUID) -> Response:
        """Newest first, each with its state and its jobs by theirs."""
        home = self.reach(reach.projects(self.caller), pk=project)
        pager = Pager(request, within=project)
        rows = pager.rows(Workflow.objects.filter(project=home))
        stand, workers = reads.standings(rows), _workers(rows)
        return Response(pager.answer(rows, lambda row: _listed(row, stand[row.pk], workers), lambda row: row.pk))

    @tells(
        "Submit a workflow",
        ask=told.NewWorkflow,
        answer=told.BegunAnswer,
        status=201,
        asks=examples.NEW_WORKFLOW,
        example=examples.BEGUN,
        keyed=True,
        refusals=(409, 429),
    )
    def post(self, request: Request, project: UUID) -> Response:
        """All jobs or none, as many as a batch may have. `depends_on` names jobs of the call, or ids of others of the
        project. Faults point at `#/jobs/<n>/<field>`; jobs that wait for each other are refused with their path. 409
        `key_taken` where a live job holds a unique key."""
        home = self.reach(reach.projects(self.caller), pk=project)
        jobs = jobs_of(self.sent, besides=("name", "priority", "labels", "affinity", "required_worker", "dedicated"))
        fields = {name: value for name, value in self.sent.items() if name != "jobs" and value is not None}
        if fields.get("dedicated") and (self.role.level < Role.ADMIN.level or not self.caller.covers("admin")):
            raise Forbidden("To reserve a worker takes an admin, and of a token the scope admin.")
        fields |= {"submitted_by": self.caller.submitter_id, "actor": self.actor}

        def make() -> Made:
            begun = services.submit_workflow(project=home, jobs=jobs, **fields)
            ids = [begun.workflow.pk, *(one.placed.job_id for one in begun.jobs)]
            return Made(ids, _begun(begun))

        return once(request, scope_id=project, make=make, show=lambda ids: _begun_before(ids[0], ids[1:]))


class OneWorkflow(Endpoint):
    route = "workflow"

    @tells("Show a workflow", answer=told.WorkflowDetailAnswer, example=examples.WORKFLOW_DETAIL)
    def get(self, request: Request, workflow: UUID) -> Response:
        """With its steps in order, each with its place in the graph, and the edges between them."""
        found = self.reach(reads.reachable_workflows(self.caller), pk=workflow)
        shown, more = reads.steps(found)
        seen = reads.seen_queues(found.project, shown, self.role)
        plan = reads.plan(shown)
        facts = {
            **_facts(found, reads.standings([found])[found.pk], _workers([found])),
            "steps": _steps(shown, plan, reads.results(shown, visible=seen)),
            "edges": [{"parent": parent, "child": child} for parent, child in plan.edges],
            "more": more,
            "payload_hidden": any(step.queue_id not in seen for step in shown),
        }
        return Response(told.WorkflowDetailAnswer(facts).data)


def _workers(workflows: Sequence[Workflow]) -> Workers:
    """What the workers of these are called, in one statement."""
    return names([key for one in workflows for key in (one.required_worker, one.assigned_worker)])


def _facts(workflow: Workflow, standing: reads.Standing, workers: Workers) -> dict[str, Any]:
    return {
        **vars(workflow),
        "required_worker": workers.get(workflow.required_worker),
        "assigned_worker": workers.get(workflow.assigned_worker),
        "state": standing.state,
        "counts": standing.counts,
        "jobs": standing.jobs,
        "percent": standing.percent,
    }


def _listed(workflow: Workflow, standing: reads.Standing, workers: Workers) -> dict[str, Any]:
    return told.WorkflowAnswer(_facts(workflow, standing, workers)).data


def shown(workflow: Workflow) -> dict[str, Any]:
    """A workflow as it is now, as lists show it."""
    return _listed(workflow, reads.standings([workflow])[workflow.pk], _workers([workflow]))


def _steps(shown: Sequence[ListedStep], plan: reads.Plan, results: dict[UUID, Any]) -> list[dict[str, Any]]:
    names = ListedStep.__slots__
    return [
        {
            **{name: getattr(step, name) for name in names},
            "result": results.get(step.id),
            "layer": plan.places[step.id][0],
            "column": plan.places[step.id][1],
        }
        for step in shown
    ]


def _begun(begun: Begun) -> dict[str, Any]:
    jobs = [
        {
            "id": one.placed.job_id,
            "queue": one.queue_id,
            "type": one.type,
            "state": one.placed.state,
            "is_new": True,
            "name": one.name,
        }
        for one in begun.jobs
    ]
    return {"workflow": begun.workflow.pk, "jobs": jobs}


def _begun_before(workflow_id: UUID, ids: Sequence[UUID]) -> dict[str, Any]:
    """What a request made, as it is now; NotFound once any of it has been pruned."""
    names = dict(Step.objects.filter(workflow_id=workflow_id).values_list("job_id", "name"))
    rows = Job.objects.filter(workflow_id=workflow_id, id__in=ids).order_by()
    known = {one["id"]: one for one in rows.values("id", "queue_id", "type", "state")}
    if not ids or known.keys() != set(ids):
        raise NotFound
    jobs = [
        {**known[job_id], "queue": known[job_id]["queue_id"], "is_new": True, "name": names[job_id]} for job_id in ids
    ]
    return {"workflow": workflow_id, "jobs": told.StepReceiptAnswer(jobs, many=True).data}
