"""A queue that is being changed: held, and what was done to it written down."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from apps.accounts.services.fields import hold as hold_row
from apps.audit.record import Actor, record
from apps.queues.models import Queue


def hold(queue_id: UUID) -> Queue:
    """The queue as it is, locked until the transaction ends; raises NotFound for one that has gone."""
    return hold_row(Queue.objects.select_related("project__organization"), queue_id)


def recorded(queue: Queue, actor: Actor, action: str, **facts: Mapping[str, Any] | None) -> None:
    """Add the audit entry of a change to a queue; `before` and `after` say what changed."""
    record(
        actor=actor,
        organization_id=queue.project.organization_id,
        action=action,
        target_type="queue",
        target_id=queue.pk,
        **facts,
    )
