"""What people do to a whole workflow: cancel, pause, resume, retry, and put in order; on someone's behalf."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.timezone import now

from apps.audit.record import Actor, record, spoken
from apps.errors import IllegalMove
from apps.jobs.engine.cancel import cancel_many
from apps.jobs.engine.move_workflow import move_workflow as moves
from apps.jobs.engine.pause_workflow import pause_workflow as pauses
from apps.jobs.engine.resume_workflow import resume_workflow as resumes
from apps.jobs.engine.run_workflow_next import run_workflow_next as nexts
from apps.jobs.engine.set_priority import set_priority
from apps.jobs.engine.wake import wake_promoter, wake_queue
from apps.jobs.models import Workflow
from apps.jobs.selectors.workflows import dead_ids, live_ids
from apps.jobs.services.join import hold_workflow
from apps.jobs.services.replayed import replayed
from apps.jobs.states import JobState
from apps.queues.engine.tell import tell


@transaction.atomic
def cancel_workflow(*, workflow: Workflow, actor: Actor, force: bool = False) -> Workflow:
    """Cancel whatever of it has not ended: what waits at once, what runs by asking it to stop, or by force.

    Nothing joins it any more. Cancelling it again reaches what still runs; IllegalMove where all has ended.
    """
    held = hold_workflow(workflow.pk)
    ids = live_ids(held)
    if not ids:
        raise IllegalMove("Every job of this workflow has ended.")
    before, after = _change(held, {"cancelled_at": held.cancelled_at or now(), "paused_at": None})
    done = cancel_many(ids=ids, force=force)
    asked = sum(one.cancelling for one in done.values())
    facts = {"cancelled": len(done) - asked, "cancelling": asked, "force": force}
    _told(held, "cancelled", by=actor.name, **facts)
    _recorded(held, actor, "workflow.cancel", before, after | facts)
    return held


@transaction.atomic
def pause_workflow(*, workflow: Workflow, actor: Actor, reason: str = "") -> Workflow:
    """Start nothing more of it until it is resumed: what waits is paused, what runs goes on to the end of its attempt.

    IllegalMove for one that was cancelled, or has ended. One that is paused stays so.
    """
    held = hold_workflow(workflow.pk)
    _refuse_cancelled(held)
    if not live_ids(held):
        raise IllegalMove("Every job of this workflow has ended.")
    before, after = _change(held, {"paused_at": held.paused_at or now()})
    paused = sum(one.after == JobState.PAUSED for one in pauses(workflow_id=held.pk))
    _told(held, "paused", by=actor.name, reason=reason)
    _recorded(held, actor, "workflow.pause", before, after | {"reason": reason, "jobs": paused})
    return held


@transaction.atomic
def resume_workflow(*, workflow: Workflow, actor: Actor) -> Workflow:
    """Let a paused workflow go on: every paused job of it, also one that was paused by itself."""
    held = hold_workflow(workflow.pk)
    if not held.paused_at:
        raise IllegalMove("This workflow is not paused.")
    before, after = _change(held, {"paused_at": None})
    rows = resumes(workflow_id=held.pk)
    _wake(row.queue_id for row in rows if row.before == JobState.PAUSED)
    wake_promoter()
    _told(held, "resumed", by=actor.name)
    _recorded(held, actor, "workflow.resume", before, after | {"jobs": len(rows)})
    return held


@transaction.atomic
def retry_workflow(*, workflow: Workflow, actor: Actor) -> Workflow:
    """Run what failed again, from attempt 0, and what was cancelled because of it; what completed stays as it is.

    IllegalMove where it, or one that something comes back into, was cancelled; and where nothing has failed.
    """
    failed = dict.fromkeys(dead_ids(workflow), 0)
    rows = replayed(delays_ms=failed, within={workflow.pk}, revive_descendants=True)
    if not rows:
        raise IllegalMove("Nothing of this workflow has failed.")
    _wake(row.queue_id for row in rows)
    names = [str(row.job_id) for row in rows]
    _told(workflow, "retried", by=actor.name, jobs=len(names))
    _recorded(workflow, actor, "workflow.retry", {}, {"jobs": names})
    return workflow


@transaction.atomic
def set_workflow_priority(*, workflow: Workflow, actor: Actor, priority: int) -> Workflow:
    """Change the priority of every job of it that waits, for whatever it waits."""
    held = hold_workflow(workflow.pk)
    _refuse_cancelled(held)
    before, after = _change(held, {"priority": priority})
    rows = set_priority(ids=live_ids(held), priority=priority)
    _told(held, "priority_changed", by=actor.name, priority=priority)
    _recorded(held, actor, "workflow.priority", before, after | {"jobs": len(rows)})
    return held


@transaction.atomic
def move_workflow(*, workflow: Workflow, actor: Actor, to: str) -> Workflow:
    """Move what is queued of it up, down, to the top or bottom of its lines, as one group that keeps its own order."""
    held = hold_workflow(workflow.pk)
    rows = moves(workflow_id=held.pk, to=to)
    if not rows:
        raise IllegalMove("Nothing of this workflow is queued.")
    _told(held, "moved", by=actor.name, to=to)
    _recorded(held, actor, "workflow.move", {}, {"to": to, "jobs": len(rows)})
    return held


@transaction.atomic
def run_workflow_next(*, workflow: Workflow, actor: Actor) -> Workflow:
    """Let what waits of it be the next that its queues hand out, whatever the priority of others; its own order stays."""
    held = hold_workflow(workflow.pk)
    rows = nexts(workflow_id=held.pk)
    if not rows:
        raise IllegalMove("Nothing of this workflow is queued, or waits.")
    _wake(row.queue_id for row in rows if row.after == JobState.QUEUED)
    _told(held, "run_next", by=actor.name)
    _recorded(held, actor, "workflow.run_next", {}, {"jobs": len(rows)})
    return held


def _change(held: Workflow, fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Save fields; answers what they were and are, for the audit."""
    before = {name: _plain(getattr(held, name)) for name in fields}
    for name, value in fields.items():
        setattr(held, name, value)
    held.save(update_fields=list(fields))
    return before, {name: _plain(value) for name, value in fields.items()}


def _plain(value: Any) -> Any:
    return spoken(value) if isinstance(value, datetime) else value


def _refuse_cancelled(workflow: Workflow) -> None:
    if workflow.cancelled_at:
        raise IllegalMove("This workflow was cancelled.")


def _wake(queues: Iterable[UUID]) -> None:
    for queue_id in set(queues):
        wake_queue(queue_id)


def _told(workflow: Workflow, what: str, **facts: Any) -> None:
    tell(project_id=workflow.project_id, kind=f"workflow.{what}", workflow=workflow.pk, **facts)


def _recorded(
    workflow: Workflow, actor: Actor, action: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    record(
        actor=actor,
        organization_id=workflow.project.organization_id,
        action=action,
        target_type="workflow",
        target_id=workflow.pk,
        before=dict(before),
        after=dict(after),
    )
