"""Workflows and batches as pages show them, to those who may look."""

from uuid import UUID

from apps.accounts.models import Project, User
from apps.accounts.selectors.callers import caller_of_user
from apps.accounts.selectors.reach import role_of
from apps.dashboard.selectors.access import Seat
from apps.errors import NotFound
from apps.jobs.models import Batch, Workflow
from apps.jobs.selectors.batches import reachable_batches
from apps.jobs.selectors.workflows import reachable_workflows


def workflow_seat(user: User, workflow_id: UUID) -> tuple[Workflow, Seat]:
    """A workflow and the seat from which it is seen; raises NotFound for a stranger's as for none."""
    rows = reachable_workflows(caller_of_user(user)).select_related("project__organization")
    workflow = rows.filter(pk=workflow_id).first()
    if workflow is None:
        raise NotFound
    return workflow, Seat(workflow.project, role_of(workflow))


def batch_seat(user: User, batch_id: UUID) -> tuple[Batch, Seat]:
    """The same of a batch."""
    rows = reachable_batches(caller_of_user(user)).select_related("project__organization", "queue")
    batch = rows.filter(pk=batch_id).first()
    if batch is None:
        raise NotFound
    return batch, Seat(batch.project, role_of(batch))


def workflows(project: Project, *, before: UUID | None, limit: int) -> list[Workflow]:
    """Those of a project, the newest first."""
    rows = Workflow.objects.filter(project=project)
    return list((rows.filter(pk__lt=before) if before else rows).order_by("-id")[:limit])
