"""Make the jobs that follow batches, and cancel batches."""

from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.utils.timezone import now

from apps.audit.record import Actor, record
from apps.errors import IllegalMove, Refusal
from apps.jobs.engine.cancel import cancel_many
from apps.jobs.engine.complete_due import complete_due
from apps.jobs.engine.ready import NOWHERE
from apps.jobs.models import Batch
from apps.jobs.selectors.batches import live_ids, progress_of
from apps.jobs.services.submit import submit_one
from apps.jobs.states import FINAL
from apps.queues.engine.tell import tell

TURN = 100  # batches completed in one turn of the loop

log = structlog.get_logger("fencepost.loops")


def complete_batches() -> int:
    """Make the jobs that follow batches all of whose jobs have ended, each once; answers how many batches were seen to.

    Any number may do so at once: a batch is held while its job is made, and marked in the same transaction. Each is
    looked for after the last, past those that are still open only once; what ends behind is found by the next turn.
    """
    done, last = 0, _complete_one(NOWHERE)
    while last is not None:
        done += 1
        last = _complete_one(last) if done < TURN else None
    return done


@transaction.atomic
def _complete_one(after: UUID) -> UUID | None:
    batch_id = complete_due(after=after)
    if batch_id is None:
        return None
    batch = Batch.objects.select_related("queue__project").get(pk=batch_id)
    counts = progress_of(batch).counts
    ended = {"id": str(batch.pk), "size": batch.size, **{state.value: counts.get(state, 0) for state in sorted(FINAL)}}
    try:
        with transaction.atomic():
            _follow(batch, ended)
    except Refusal as refusal:  # its retry policy has gone, or the queue takes its type no more
        log.warning("no job follows a batch", batch=str(batch.pk), why=str(refusal))
        tell(project_id=batch.project_id, kind="batch.unfollowed", queue_id=batch.queue_id, why=str(refusal), **ended)
    batch.completed_at = now()
    batch.save(update_fields=["completed_at", "on_complete_job"])
    tell(
        project_id=batch.project_id, kind="batch.completed", queue_id=batch.queue_id, job=batch.on_complete_job, **ended
    )
    return batch_id


def _follow(batch: Batch, ended: dict[str, Any]) -> None:
    """Its queue is deleted only together with it."""
    assert batch.queue is not None  # noqa: S101
    asked = dict(batch.on_complete or {})
    fields = {**asked, "payload": {**asked.get("payload", {}), "batch": ended}}
    placed = submit_one(queue=batch.queue, fields=fields, submitted_by=batch.submitted_by, ask_depth=False)
    batch.on_complete_job = placed.job_id


@transaction.atomic
def cancel_batch(*, batch: Batch, actor: Actor, force: bool = False) -> None:
    """Cancel whatever of a batch has not ended: what waits at once, what runs by asking it to stop, or by force.

    IllegalMove where all has ended.
    """
    ids = live_ids(batch)
    done = cancel_many(ids=ids, force=force) if ids else {}
    if not done:
        raise IllegalMove("Every job of this batch has ended.")
    asked = sum(one.cancelling for one in done.values())
    facts = {"cancelled": len(done) - asked, "cancelling": asked, "force": force}
    tell(project_id=batch.project_id, kind="batch.cancelled", queue_id=batch.queue_id, batch=batch.pk, **facts)
    record(
        actor=actor,
        organization_id=batch.project.organization_id,
        action="batch.cancel",
        target_type="batch",
        target_id=batch.pk,
        before={"live": len(ids)},
        after=facts,
    )
