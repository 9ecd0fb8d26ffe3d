"""What people do with queues that touches their jobs too."""

from django.db import transaction

from apps.audit.record import Actor
from apps.jobs.engine.wake import wake_queue
from apps.jobs.selectors import count_held
from apps.queues import services
from apps.queues.models import Queue


@transaction.atomic
def resume_queue(*, queue: Queue, actor: Actor) -> Queue:
    """Let workers claim from a queue again, and tell them."""
    resumed = services.resume(queue=queue, actor=actor)
    wake_queue(queue.pk)
    return resumed


def delete_queue(*, queue: Queue, actor: Actor) -> None:
    """Delete a queue without live jobs and dead letters; InUse tells how many of which state it has.

    Its finished jobs stay on their shelves until those are dropped, and nobody reaches them any more.
    """
    services.delete(queue=queue, actor=actor, count=count_held)
