"""Cancel everything that waits in a queue, on someone's behalf."""

from apps.audit.record import Actor, record
from apps.jobs.engine import purge as engine
from apps.queues.models import Queue


def purge(*, queue: Queue, actor: Actor) -> int:
    """Cancel every queued job of a queue in batches, each its own commit; answers how many."""
    count = 0
    while some := engine.purge(queue_id=queue.id):
        count += some
    record(
        actor=actor,
        organization_id=queue.project.organization_id,
        action="queue.purge",
        target_type="queue",
        target_id=queue.id,
        after={"cancelled": count},
    )
    return count
