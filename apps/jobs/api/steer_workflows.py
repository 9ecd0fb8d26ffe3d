"""What people do to a whole workflow. Each verb answers with the workflow as it is now."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.schema import tells
from apps.accounts.serializers.fields import Body
from apps.jobs import services
from apps.jobs.api import examples
from apps.jobs.api.workflows import shown
from apps.jobs.models import Workflow
from apps.jobs.selectors.workflows import reachable_workflows
from apps.jobs.serializers import bodies
from apps.jobs.serializers.workflows import WorkflowAnswer


class WorkflowVerb(Endpoint):
    """POST on one workflow."""

    def does(self, verb: Callable[..., Workflow], workflow: UUID, body: type[Body]) -> Response:
        """Do what the body asks to a workflow the caller may reach, and answer it."""
        found = self.reach(reachable_workflows(self.caller), pk=workflow)
        return Response(shown(verb(workflow=found, actor=self.actor, **self.body(body))))


def _tells(summary: str, ask: type[Body], asks: dict[str, Any], state: str = "running") -> Callable[..., Any]:
    return tells(
        summary,
        ask=ask,
        answer=WorkflowAnswer,
        asks=asks,
        example={**examples.WORKFLOW, "state": state},
        refusals=(409,),
    )


class CancelWorkflow(WorkflowVerb):
    route = "workflow-cancel"

    @_tells("Cancel a workflow", bodies.Cancel, {"force": False}, "cancelling")
    def post(self, request: Request, workflow: UUID) -> Response:
        """What waits ends at once, what runs is asked to stop; with `force` it is ended now. Nothing joins it any more."""
        return self.does(services.cancel_workflow, workflow, bodies.Cancel)


class PauseWorkflow(WorkflowVerb):
    route = "workflow-pause"

    @_tells("Pause a workflow", bodies.PauseJob, {"reason": "the customer asked"}, "paused")
    def post(self, request: Request, workflow: UUID) -> Response:
        """No claim that begins after the answer takes a job of it. What runs goes on to the end of its attempt, and is
        not tried again before the resume."""
        return self.does(services.pause_workflow, workflow, bodies.PauseJob)


class ResumeWorkflow(WorkflowVerb):
    route = "workflow-resume"

    @_tells("Resume a workflow", bodies.Nothing, {})
    def post(self, request: Request, workflow: UUID) -> Response:
        """Every paused job of it goes on from where it was, also one that was paused by itself."""
        return self.does(services.resume_workflow, workflow, bodies.Nothing)


class RetryWorkflow(WorkflowVerb):
    route = "workflow-retry"

    @_tells("Retry what failed of a workflow", bodies.Nothing, {})
    def post(self, request: Request, workflow: UUID) -> Response:
        """Its dead letters run again from attempt 0, and what was cancelled because of them waits again. What completed
        stays. 409 in a cancelled workflow, and where nothing has failed."""
        return self.does(services.retry_workflow, workflow, bodies.Nothing)


class WorkflowPriority(WorkflowVerb):
    route = "workflow-priority"

    @_tells("Change a workflow's priority", bodies.Priority, {"priority": 10})
    def post(self, request: Request, workflow: UUID) -> Response:
        """That of every job of it that waits, for whatever it waits."""
        return self.does(services.set_workflow_priority, workflow, bodies.Priority)


class MoveWorkflow(WorkflowVerb):
    route = "workflow-move"

    @_tells("Move a workflow in line", bodies.Move, {"to": "top"})
    def post(self, request: Request, workflow: UUID) -> Response:
        """What is queued of it, as one group in its own order, among the others of each queue, priority and target
        worker: past one of them, or past all."""
        return self.does(services.move_workflow, workflow, bodies.Move)


class RunWorkflowNext(WorkflowVerb):
    route = "workflow-run-next"

    @_tells("Run a workflow next", bodies.Nothing, {})
    def post(self, request: Request, workflow: UUID) -> Response:
        """What waits of it, before all others of its queues, whatever their priority, and in its own order. What waits
        for its time queues now."""
        return self.does(services.run_workflow_next, workflow, bodies.Nothing)


class ReassignWorkflow(WorkflowVerb):
    route = "workflow-reassign"

    @_tells("Reassign a workflow", bodies.Reassign, {"worker": "press-2"})
    def post(self, request: Request, workflow: UUID) -> Response:
        """All its jobs that go where it goes wait for this worker from now on. 409 with the ids of those that still run
        elsewhere, and while it is reserved."""
        return self.does(services.reassign_workflow, workflow, bodies.Reassign)
