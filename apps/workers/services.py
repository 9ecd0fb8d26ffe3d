"""What people do with workers."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from apps.accounts.services.fields import hold
from apps.audit.record import Actor, record
from apps.queues.engine.tell import tell
from apps.workers.engine.drain import drain as set_drain
from apps.workers.models import Worker


@transaction.atomic
def drain(*, worker: Worker, actor: Actor, organization_id: UUID, projects: Sequence[UUID]) -> Worker:
    """Let a worker take no new job, this process or any later one of its name; what runs goes on."""
    return _set(worker, actor, organization_id, projects, verb="drain")


@transaction.atomic
def resume(*, worker: Worker, actor: Actor, organization_id: UUID, projects: Sequence[UUID]) -> Worker:
    """Let a drained worker take jobs again; does nothing to one that is not drained."""
    return _set(worker, actor, organization_id, projects, verb="resume")


def _set(worker: Worker, actor: Actor, organization_id: UUID, projects: Sequence[UUID], *, verb: str) -> Worker:
    held = hold(Worker.objects.all(), worker.pk)
    wanted = verb == "drain"
    if (held.drained_at is not None) == wanted:
        return held
    before = {"drained": not wanted}
    set_drain(worker_id=held.pk, drain=wanted)
    held.refresh_from_db(fields=["drained_at"])
    for project_id in projects:
        kind = "worker.drained" if wanted else "worker.resumed"
        tell(project_id=project_id, kind=kind, worker=held.uid, by=actor.name)
    record(
        actor=actor,
        organization_id=organization_id,
        action=f"worker.{verb}",
        target_type="worker",
        target_id=held.pk,
        before=before,
        after={"drained": wanted},
    )
    return held
