"""Take reservations on, as things come to stand: nobody's hand is in it."""

from uuid import UUID

from django.db import transaction

from apps.errors import WorkerUnavailable
from apps.jobs.engine.reservable import Standing, free_worker, standing
from apps.jobs.models import Workflow
from apps.jobs.services.reserve import finish, give, queues_of, said, wake_all
from apps.workers.engine.release import release as release_worker
from apps.workers.models import Reservation, ReservationState

NOBODY = "No live worker that serves its queues, and no other organization's, is free of reservations."


def settle_reservations() -> None:
    """Look at every reservation that is not over, each by itself; one that somebody else looks at is left to them."""
    waiting = Reservation.objects.exclude(state=ReservationState.RELEASED)
    for reservation_id in list(waiting.order_by("pk").values_list("pk", flat=True)):
        settle(reservation_id)


@transaction.atomic
def settle(reservation_id: UUID) -> None:
    """One step: find it a worker, bind it, send it back when its worker is lost, or let it end with its workflow."""
    rows = Reservation.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
    found = rows.filter(pk=reservation_id).first()
    if found is None:
        return
    flows = Workflow.objects.select_for_update(no_key=True, skip_locked=True, of=("self",)).select_related("project")
    workflow = flows.filter(pk=found.workflow_id).first()
    if workflow is None:
        if not Workflow.objects.filter(pk=found.workflow_id).exists():  # pruned, or gone with its project
            release_worker(reservation_id=found.pk)
        return
    now = standing(reservation_id=found.pk)
    if not now.is_live or (found.state == ReservationState.DRAINING and now.running == now.elsewhere):
        finish(found, workflow)
    elif found.state == ReservationState.PENDING:
        _begin(found, workflow, now)
    elif found.state == ReservationState.BOUND:
        _watch(found, workflow, now)


def _begin(reservation: Reservation, workflow: Workflow, now: Standing) -> None:
    if reservation.worker_id is None:
        queues = queues_of(workflow.pk)
        worker_id = free_worker(organization_id=reservation.organization_id, queues=queues)
        _note(reservation, "" if worker_id and _given(reservation, worker_id) else NOBODY)
        return
    if trouble := _trouble(now):
        _note(reservation, trouble)
        return
    if now.is_known and not now.foreign_jobs and not now.elsewhere:
        Reservation.objects.filter(pk=reservation.pk).update(state=ReservationState.BOUND, last_error="")
        Workflow.objects.filter(pk=workflow.pk).update(assigned_worker=reservation.worker_id)
        said(reservation, workflow, "bound", worker=now.uid)
        wake_all(workflow.pk)


def _given(reservation: Reservation, worker_id: UUID) -> bool:
    """False where somebody has reserved it since it was found free: the next turn finds another."""
    try:
        give(reservation, worker_id)
    except WorkerUnavailable:
        return False
    return True


def _watch(reservation: Reservation, workflow: Workflow, now: Standing) -> None:
    """A worker that is lost leaves the reservation waiting for it: what it began lies in its workspace."""
    if not now.is_there:
        trouble = f"The worker {now.uid} was lost."
        Reservation.objects.filter(pk=reservation.pk).update(
            state=ReservationState.PENDING, generation=reservation.generation + 1, last_error=trouble
        )
        said(reservation, workflow, "lost", worker=now.uid)
    elif workflow.cancelled_at and now.running:
        finish(reservation, workflow)
    else:
        _note(reservation, f"The worker {now.uid} drains and takes no more." if now.drained else "")


def _trouble(now: Standing) -> str:
    if not now.is_there:
        return f"The worker {now.uid} is offline."
    return f"The worker {now.uid} drains and takes no more." if now.drained else ""


def _note(reservation: Reservation, trouble: str) -> None:
    if reservation.last_error != trouble:
        Reservation.objects.filter(pk=reservation.pk).update(last_error=trouble)
