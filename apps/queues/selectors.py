"""Reads of queues and retry policies."""

from uuid import UUID

from django.db.models import QuerySet

from apps.accounts.selectors import Caller, reachable
from apps.queues.models import Queue, RetryPolicy


def queues(caller: Caller) -> QuerySet[Queue]:
    """The queues a caller may see."""
    rows = Queue.objects.select_related("project")
    return reachable(rows, caller, project="project", organization="project__organization")


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
