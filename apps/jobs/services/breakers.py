"""Open and close the breaker of a queue, by hand and by itself, and tell its workers.

A gate that comes with an opening counts what still runs on the charge of one that was there before.
"""

from datetime import datetime

from django.db import transaction

from apps.audit.record import Actor
from apps.errors import BadInput
from apps.jobs.engine.outcomes import Tripped
from apps.jobs.engine.probes import Probe
from apps.jobs.engine.reconcile import recount
from apps.jobs.engine.wake import wake_queue
from apps.queues import services as queues
from apps.queues.models import BreakerState, Queue


@transaction.atomic
def set_breaker(*, queue: Queue, actor: Actor, state: str, until: datetime | None = None) -> Queue:
    """Open a breaker, until a time or for one cooldown, or close it, and let its workers know."""
    if state == BreakerState.OPEN:
        opened = queues.open_breaker(queue=queue, actor=actor, until=until)
        recount(queue_id=queue.pk)
        return opened
    if until is not None:
        raise BadInput.at("#/until", "Only an open breaker has an end.")
    closed = queues.close_breaker(queue=queue, actor=actor)
    wake_queue(queue.pk)
    return closed


@transaction.atomic
def trip_breaker(tripped: Tripped) -> bool:
    """Open a breaker that its rules open; answers whether it was not open already."""
    opened = queues.trip_breaker(queue_id=tripped.queue_id, since=tripped.since, failures=tripped.failures)
    if opened:
        recount(queue_id=tripped.queue_id)
    return opened


@transaction.atomic
def judge_probe(probe: Probe) -> None:
    """Close a breaker, or open it anew, by what its probe came to; wake the workers where one may start now."""
    asked = (probe.job_id, probe.fence)
    if queues.judge_probe(queue_id=probe.queue_id, probe=asked, passed=probe.passed):
        wake_queue(probe.queue_id)
