"""Find the queue that a job is submitted to, among those its caller may reach."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS

from apps.accounts.models import Project
from apps.queues.models import Queue
from apps.sql import Statement

# What submitting asks a queue and its project for; the rest is read when somebody does.
_QUEUE, _PROJECT = ("id", "project_id", "allowed_types", "max_depth"), ("id", "organization_id")


def _queue(*columns: Any) -> Queue:
    *own, organization_id, role, depth = columns
    queue: Any = Queue.from_db(DEFAULT_DB_ALIAS, _QUEUE, own)
    queue.project = Project.from_db(DEFAULT_DB_ALIAS, _PROJECT, (queue.project_id, organization_id))
    queue.role, queue.cached_depth = role, depth
    found: Queue = queue
    return found


reached = Statement.beside(__file__, _queue)
