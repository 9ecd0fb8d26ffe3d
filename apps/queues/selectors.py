"""Reads of queues and retry policies."""

from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet

from apps.accounts.models import Project
from apps.accounts.selectors import Caller, reach, reachable
from apps.queues.models import Queue, RetryPolicy


def queues(caller: Caller) -> QuerySet[Queue]:
    """The queues a caller may see."""
    rows = Queue.objects.select_related("project")
    return reachable(rows, caller, project="project", organization="project__organization")


def projects_with_queues(caller: Caller) -> QuerySet[Project]:
    """The projects a caller may see, each with the `queue_ids` it has, in one statement."""
    ids = Queue.objects.filter(project=OuterRef("pk")).order_by("id").values("id")
    return reach.projects(caller).annotate(queue_ids=ArraySubquery(ids))


def policies(caller: Caller) -> QuerySet[RetryPolicy]:
    """The retry policies a caller may see."""
    rows = RetryPolicy.objects.select_related("project")
    return reachable(rows, caller, project="project", organization="project__organization")


def policy_named(project_id: UUID, given: str) -> RetryPolicy | None:
    """A retry policy of a project by its id or its name."""
    rows = RetryPolicy.objects.filter(project_id=project_id)
    try:
        return rows.filter(id=UUID(given)).first()
    except ValueError:
        return rows.filter(name=given).first()
