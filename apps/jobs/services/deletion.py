"""Delete queues, projects and organizations with work in them: gone for callers at once, emptied by a loop (vanish)."""

from collections import Counter
from collections.abc import Collection
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from apps.accounts.models import Organization, Project
from apps.accounts.services import deletion as accounts
from apps.audit.record import Actor
from apps.jobs.models import Schedule
from apps.jobs.selectors import count_held
from apps.queues import services as queues
from apps.queues.models import Queue
from apps.queues.services.deletion import WHY, mark, refuse_held


@transaction.atomic
def delete_queue(*, queue: Queue, actor: Actor, cancel: bool = False) -> None:
    """Delete a queue; InUse tells how many jobs of which state it holds, unless `cancel` lets them be cancelled.

    What waits is cancelled and what runs asked to stop; when that has ended the queue goes. Its finished jobs are
    reached by nobody any more, and go with their days.
    """
    queues.delete(queue=queue, actor=actor, count=lambda key: count_held([key]), cancel=cancel)
    _silence([queue.pk], actor)


@transaction.atomic
def delete_project(*, project: Project, actor: Actor, cancel: bool = False) -> None:
    """Delete a project with its queues, in the same way."""
    ids, counts = _condemn(Queue.objects.filter(project=project).values_list("pk", flat=True), actor, cancel=cancel)
    accounts.mark_project(project=project, actor=actor, queues=ids, cancelled=counts)


@transaction.atomic
def delete_organization(*, organization: Organization, actor: Actor, cancel: bool = False) -> None:
    """Delete an organization with its projects, in the same way; nobody is a member of it any more."""
    mine = Queue.objects.filter(project__organization=organization).values_list("pk", flat=True)
    ids, counts = _condemn(mine, actor, cancel=cancel)
    accounts.mark_organization(organization=organization, actor=actor, queues=ids, cancelled=counts)


def _condemn(queue_ids: Collection[UUID], actor: Actor, *, cancel: bool) -> tuple[list[str], dict[str, int]]:
    ids = list(queue_ids)
    counts = Counter(count_held(ids))
    refuse_held(counts, cancel=cancel)
    mark(ids, actor=actor)
    _silence(ids, actor)
    return [str(key) for key in ids], dict(counts)


def _silence(queue_ids: Collection[UUID], actor: Actor) -> None:
    """Nothing fires from now on."""
    schedules = Schedule.objects.filter(queue_id__in=queue_ids, paused_at=None)
    schedules.update(paused_at=Now(), paused_by=actor.name, pause_reason=WHY)
