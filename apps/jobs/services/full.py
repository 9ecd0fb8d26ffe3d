"""Refuse what would fill a queue beyond its cap."""

from typing import Any

from apps.errors import QueueFull
from apps.queues.models import Queue
from apps.queues.selectors import with_depth

RETRY_AFTER = 5  # seconds: by then the depth has been measured again


def refuse_when_full(queue: Queue, *, jobs: int = 1) -> None:
    """Raise QueueFull where the queue has a max_depth and these jobs would pass it.

    Advisory: judged by the depth as it was last measured, so that it costs the same however deep a queue is.
    A queue that was read together with its depth takes no statement; any other that has a max_depth takes one.
    """
    if queue.max_depth is None:
        return
    read: Any = queue
    if not hasattr(queue, "cached_depth"):
        read = with_depth(Queue.objects.filter(pk=queue.pk)).first() or queue
    depth, most = getattr(read, "cached_depth", None) or 0, read.max_depth
    if most is not None and depth + jobs > most:
        raise QueueFull(
            f"This queue holds {depth} jobs of at most {most}; {jobs} more would pass that.",
            retry_after=RETRY_AFTER,
            depth=depth,
            max_depth=most,
        )
