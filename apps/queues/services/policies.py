"""Make, change and delete retry policies."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from apps.accounts.models import Project
from apps.accounts.services.fields import change, hold, make, told
from apps.audit.record import Actor, record
from apps.errors import BadInput, InUse
from apps.queues.models import Curve, RetryPolicy


@transaction.atomic
def create_policy(*, project: Project, actor: Actor, name: str, **fields: Any) -> RetryPolicy:
    """Make a retry policy; `fields` are those of the model."""
    policy = RetryPolicy(project=project, name=name, **fields)
    _check_intervals(policy)
    make(policy)
    _record(policy, actor, "retry_policy.create", after=told(policy))
    return policy


@transaction.atomic
def update_policy(*, policy: RetryPolicy, actor: Actor, **fields: Any) -> RetryPolicy:
    """Change the named fields; jobs already waiting for a retry keep the time they were given."""
    held = _hold(policy)
    before, after = change(held, fields)
    _check_intervals(held)
    if after:
        _record(held, actor, "retry_policy.update", before=before, after=after)
    return held


@transaction.atomic
def delete_policy(*, policy: RetryPolicy, actor: Actor) -> None:
    """Delete a policy no queue refers to; raises InUse. Jobs that named it fall back to their queue's."""
    held = _hold(policy)
    if held.queue_set.exists():  # the foreign key itself is only checked at commit
        raise InUse("A queue still uses this retry policy.")
    before = told(held)
    held.delete()
    _record(policy, actor, "retry_policy.delete", before=before)


def _check_intervals(policy: RetryPolicy) -> None:
    listed = policy.kind == Curve.INTERVALS
    if listed != bool(policy.intervals_ms):
        rule = "needs at least one interval" if listed else "takes no intervals"
        raise BadInput.at("#/intervals", f"The kind {policy.kind} {rule}.")


def _hold(policy: RetryPolicy) -> RetryPolicy:
    return hold(RetryPolicy.objects.select_related("project__organization"), policy.pk)


def _record(policy: RetryPolicy, actor: Actor, action: str, **facts: Mapping[str, Any] | None) -> None:
    record(
        actor=actor,
        organization_id=policy.project.organization_id,
        action=action,
        target_type="retry_policy",
        target_id=policy.pk,
        **facts,
    )
