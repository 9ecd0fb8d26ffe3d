"""Reserve a worker for a workflow, both ways: it runs nothing else, and the workflow nowhere else."""

from typing import Any
from uuid import UUID

from django.db import transaction

from apps.audit.record import Actor, record
from apps.errors import Conflict, Forbidden, NotFound, WorkerUnavailable
from apps.jobs.engine.aim import aim
from apps.jobs.engine.reservable import standing
from apps.jobs.engine.wake import wake_queue
from apps.jobs.models import Job, Workflow
from apps.jobs.selectors.targets import serves_others, targetable
from apps.jobs.services.join import hold_workflow
from apps.queues.engine.tell import tell
from apps.queues.models import Queue
from apps.workers.engine.close import close
from apps.workers.engine.release import release as release_worker
from apps.workers.models import Reservation, ReservationState, Worker

POINTER = "#/worker"


@transaction.atomic
def reserve(
    *, workflow_id: UUID, actor: Actor, worker: str | None = None, from_others: bool = False, pointer: str = POINTER
) -> Reservation:
    """Let a workflow wait for a worker of its own: the one of this name, or the one that has least to do.

    From now on none of its jobs starts anywhere, and nothing else on that worker, until what runs has ended. Raises Conflict
    where it is reserved already or over, BadInput, WorkerUnavailable and, but `from_others`, Forbidden for the worker.
    """
    workflow = hold_workflow(workflow_id)
    queues = queues_of(workflow_id)
    if not queues:
        raise Conflict("Nothing of this workflow waits or runs; there is nothing to reserve a worker for.")
    if Reservation.objects.filter(workflow_id=workflow_id).exclude(state=ReservationState.RELEASED).exists():
        raise Conflict("This workflow is reserved already, or its last reservation has not ended yet.")
    organization_id = workflow.project.organization_id
    made = Reservation.objects.create(organization_id=organization_id, workflow_id=workflow_id)
    if worker is not None:
        give(made, _named(worker, organization_id, queues, pointer, from_others=from_others), pointer=pointer)
    Workflow.objects.filter(pk=workflow_id).update(dedicated=True)
    aim(workflow_id=workflow_id)
    said(made, workflow, "pending", worker=worker)
    record(
        actor=actor,
        organization_id=organization_id,
        action="reservation.create",
        target_type="reservation",
        target_id=made.pk,
        after={"workflow": str(workflow_id), "worker": worker},
    )
    return Reservation.objects.select_related("worker").get(pk=made.pk)


def _named(uid: str, organization_id: UUID, queues: list[UUID], pointer: str, *, from_others: bool) -> UUID:
    """The worker that was asked for by name."""
    served = Queue.objects.filter(pk__in=queues)
    chosen = targetable(uid=uid, organization_id=organization_id, queues=served, pointer=pointer)
    if not from_others and serves_others(chosen, organization_id):
        raise Forbidden(f"The worker {uid} serves others too: only staff may reserve it.")
    return chosen.pk


@transaction.atomic
def end_reservation(*, reservation_id: UUID, actor: Actor) -> Reservation:
    """Let a workflow run like others again, and its worker for others: at once, or when what runs there has ended.

    Until then the worker starts nothing (`draining`), while what waits may go elsewhere. Raises Conflict when it is over.
    """
    found = Reservation.objects.select_for_update(no_key=True, of=("self",)).filter(pk=reservation_id).first()
    if found is None:
        raise NotFound
    if found.state not in (ReservationState.PENDING, ReservationState.BOUND):
        raise Conflict(f"This reservation is {found.state}.")
    workflow = hold_workflow(found.workflow_id)
    before = found.state
    Workflow.objects.filter(pk=workflow.pk).update(dedicated=False)
    finish(found, workflow)
    record(
        actor=actor,
        organization_id=found.organization_id,
        action="reservation.end",
        target_type="reservation",
        target_id=reservation_id,
        before={"state": before},
        after={"state": found.state},
    )
    return Reservation.objects.select_related("worker").get(pk=reservation_id)


def finish(reservation: Reservation, workflow: Workflow) -> None:
    """Let it drain while something of the workflow runs on its worker, else release it; the caller holds both rows."""
    now = standing(reservation_id=reservation.pk)
    if reservation.worker_id and now.running > now.elsewhere:
        reservation.state = ReservationState.DRAINING
        reservation.save(update_fields=["state"])
    else:
        release_worker(reservation_id=reservation.pk)
        reservation.state = ReservationState.RELEASED
    aim(workflow_id=workflow.pk)
    said(reservation, workflow, reservation.state, worker=now.uid)
    wake_all(workflow.pk)


def give(reservation: Reservation, worker_id: UUID, *, pointer: str = POINTER) -> None:
    """Close a worker to others. Raises WorkerUnavailable at `pointer` where somebody else has just reserved it."""
    Worker.objects.select_for_update(no_key=True).get(pk=worker_id)
    taken = Reservation.objects.filter(worker_id=worker_id).exclude(state=ReservationState.RELEASED)
    if taken.exclude(pk=reservation.pk).exists():
        raise WorkerUnavailable.at(pointer, "This worker is reserved.")
    close(reservation_id=reservation.pk, worker_id=worker_id)


def said(reservation: Reservation, workflow: Workflow, what: str, **more: Any) -> None:
    """Tell the project that a reservation has come into a state."""
    more |= {"reservation": reservation.pk, "workflow": workflow.pk}
    tell(project_id=workflow.project_id, kind=f"reservation.{what}", **more)


def queues_of(workflow_id: UUID) -> list[UUID]:
    """Where jobs of a workflow are that may still run."""
    live = Job.objects.filter(shelved_on=None, workflow_id=workflow_id)
    return list(live.order_by().values_list("queue_id", flat=True).distinct())


def wake_all(workflow_id: UUID) -> None:
    for queue_id in queues_of(workflow_id):
        wake_queue(queue_id)
