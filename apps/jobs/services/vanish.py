"""Carry out deletions, batch by batch: any scheduler goes on where another one left off."""

import time
from collections.abc import Callable
from functools import partial
from uuid import UUID

from apps.accounts.models import Organization, Project
from apps.accounts.services.deletion import drop_organization, drop_project
from apps.audit.record import SYSTEM
from apps.jobs.engine import vanish as engine
from apps.jobs.engine.ready import NOWHERE
from apps.jobs.engine.wake import wake_queue
from apps.queues.engine.vanish import Deleted, vanish_due, vanish_mark
from apps.queues.models import Queue
from apps.queues.services.deletion import drop, forget_minutes, mark
from apps.workers.engine.vanish import vanish_reservations, vanish_sessions, vanish_workers

LIMIT = 1000  # rows of one transaction
SECONDS = 20.0  # that one turn takes at most, so that all have theirs


def carry_out() -> bool:
    """Go on with every deletion there is, for a while; answers whether anything is left to do."""
    until = time.monotonic() + SECONDS
    vanish_mark()
    doomed = vanish_due()
    if doomed:
        _empty(doomed, until)
    projects = list(Project.every.filter(deleted_at__isnull=False).values_list("pk", flat=True))
    for project_id in projects:
        _finish_project(project_id, until)
    organizations = list(Organization.every.filter(deleted_at__isnull=False).values_list("pk", flat=True))
    for organization_id in organizations:
        _finish_organization(organization_id, until)
    return bool(doomed or projects or organizations)


def _empty(doomed: list[Deleted], until: float) -> None:
    """Empty queues, and drop those that nobody can have put anything into since they were seen to be empty.

    Dead letters are looked for first: one could be replayed into what the walk has passed already.
    """
    idle = [one.queue_id for one in doomed if _forget(one.queue_id, until) and one.is_known]
    live = _walk([one.queue_id for one in doomed], until)
    if live is None:
        return
    for queue_id in idle:
        if queue_id not in live and _forget(queue_id, until):
            drop(queue_id)


def _walk(queue_ids: list[UUID], until: float) -> set[UUID] | None:
    """Cancel what waits in queues; answers those that had a live job, or None when there was not time enough."""
    live: set[UUID] = set()
    after = NOWHERE
    while time.monotonic() < until:
        walked = engine.vanish(queues=queue_ids, after=after, limit=LIMIT)
        live.update(walked.queues)
        for queue_id in walked.woken:
            wake_queue(queue_id)
        if walked.upto is None or walked.seen < LIMIT:
            return live
        after = walked.upto
    return None


def _forget(queue_id: UUID, until: float) -> bool:
    """Delete what hangs on a queue besides live jobs; True when there was nothing (left) to delete."""
    return all(
        _until_none(partial(forget, queue_id=queue_id, limit=LIMIT), until)
        for forget in (engine.vanish_dead, engine.vanish_ticks, engine.vanish_batches, forget_minutes)
    )


def _finish_project(project_id: UUID, until: float) -> None:
    """Drop a project whose queues have gone. One that was made in the moment of its deletion is deleted too."""
    late = list(Queue.objects.filter(project_id=project_id).values_list("pk", flat=True))
    if late:
        mark(late, actor=SYSTEM)
    if Queue.every.filter(project_id=project_id).exists():
        return
    if _until_none(partial(engine.vanish_workflows, project_id=project_id, limit=LIMIT), until):
        drop_project(project_id)


def _finish_organization(organization_id: UUID, until: float) -> None:
    """Drop an organization whose projects have gone, after its own workers: what these said is no evidence any more."""
    if Project.every.filter(organization_id=organization_id).exists():
        return
    forgets = (vanish_reservations, vanish_sessions, vanish_workers)
    if all(_until_none(partial(one, organization_id=organization_id, limit=LIMIT), until) for one in forgets):
        drop_organization(organization_id)


def _until_none(forget: Callable[[], int], until: float) -> bool:
    while time.monotonic() < until:
        if not forget():
            return True
    return False
