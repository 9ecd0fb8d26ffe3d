"""Queues that are deleted: gone for everybody at once, and from the tables when they are empty."""

from collections.abc import Collection, Mapping
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Now

from apps.audit.record import Actor
from apps.errors import InUse
from apps.queues.models import MinuteStat, Queue

WHY = "deleted"  # the reason of the pause


def refuse_held(counts: Mapping[str, int], *, cancel: bool) -> None:
    """Raise InUse with the counts by state, unless what is held is to be cancelled."""
    if counts and not cancel:
        raise InUse("This still holds jobs; ?cancel=true cancels them first.", counts=dict(counts))


@transaction.atomic
def mark(queue_ids: Collection[UUID], *, actor: Actor) -> None:
    """Let nobody see these queues any more, and no claim that begins from now on take a job of them."""
    held = Queue.objects.select_for_update().filter(pk__in=queue_ids).order_by("id")
    Queue.objects.filter(pk__in=[queue.pk for queue in held]).update(
        deleted_at=Now(),
        paused_at=Coalesce(F("paused_at"), Now()),
        paused_until=None,
        paused_by=actor.name,
        pause_reason=WHY,
    )


def forget_minutes(*, queue_id: UUID, limit: int) -> int:
    """Delete some of the rollup of a queue; answers how many."""
    some = MinuteStat.objects.filter(queue_id=queue_id).order_by("minute").values_list("minute", flat=True)
    return MinuteStat.objects.filter(queue_id=queue_id, minute__in=list(some[:limit])).delete()[0]


@transaction.atomic
def drop(queue_id: UUID) -> None:
    """Delete the row of a deleted queue; while somebody else is at it, nothing."""
    held = Queue.every.select_for_update(skip_locked=True).filter(pk=queue_id, deleted_at__isnull=False).first()
    if held is not None:
        held.delete()
