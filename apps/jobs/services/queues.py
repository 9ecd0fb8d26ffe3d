"""What people do with queues that touches their jobs too."""

from django.db import transaction

from apps.audit.record import Actor
from apps.jobs.engine.wake import wake_queue
from apps.queues import services
from apps.queues.models import Queue


@transaction.atomic
def resume_queue(*, queue: Queue, actor: Actor) -> Queue:
    """Let workers claim from a queue again, and tell them."""
    resumed = services.resume(queue=queue, actor=actor)
    wake_queue(queue.pk)
    return resumed
