"""Workers that jobs may be bound to."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.timezone import now

from apps.errors import BadInput, WorkerUnavailable
from apps.jobs.models import Workflow
from apps.queues.models import Queue
from apps.workers.models import Reservation, ReservationState, Session, Worker


def targetable(*, uid: str, organization_id: UUID, queues: Collection[Queue], pointer: str) -> Worker:
    """The worker of a name that may take work of these queues of an organization, if there is one.

    Raises BadInput at `pointer` where it does not exist, is not theirs or serves nothing of theirs, and WorkerUnavailable
    where it drains, is reserved, has been silent for a lease, or does not serve one of the queues.
    """
    worker = Worker.objects.filter(Q(organization=None) | Q(organization=organization_id), uid=uid).first()
    if worker is None or not _is_known_to(organization_id, worker):
        raise BadInput.at(pointer, "There is no such worker.")
    session = Session.objects.filter(worker=worker, ended_at=None, fenced_at=None, lease_expires_at__gt=now()).first()
    if session is None:
        raise WorkerUnavailable.at(pointer, f"The worker {uid} is offline.")
    if worker.drained_at or session.draining:
        raise WorkerUnavailable.at(pointer, f"The worker {uid} drains and takes no more.")
    if session.reservation_id:
        raise WorkerUnavailable.at(pointer, f"The worker {uid} is reserved.")
    for queue in queues:
        if session.queues and queue.pk not in session.queues:
            raise WorkerUnavailable.at(pointer, f"The worker {uid} does not serve the queue {queue.name}.")
    return worker


def _is_known_to(organization_id: UUID, worker: Worker) -> bool:
    """Whom others share is there for those that it serves, or served last."""
    last = Session.objects.filter(worker=worker).order_by("-pk").first()
    own = Queue.objects.filter(project__organization=organization_id)
    return worker.organization_id is not None or (
        last is not None and (not last.queues or own.filter(pk__in=last.queues).exists())
    )


def serves_others(worker: Worker, organization_id: UUID) -> bool:
    """Does it, or a process of its name, serve another organization's queues as well?"""
    others = Queue.objects.exclude(project__organization=organization_id)
    live = Session.objects.filter(worker=worker, ended_at=None, fenced_at=None)
    return worker.organization_id is None and any(
        others.filter(pk__in=one.queues).exists() if one.queues else others.exists() for one in live
    )


def reserved(workflow_id: UUID) -> bool:
    """Is a workflow reserved for a worker, or does it wait to be?"""
    return Reservation.objects.filter(
        workflow_id=workflow_id, state__in=[ReservationState.PENDING, ReservationState.BOUND]
    ).exists()


def reservations(*, project_id: UUID) -> QuerySet[Reservation]:
    """Those of a project's workflows, each with its worker."""
    workflows = Workflow.objects.filter(project_id=project_id)
    return Reservation.objects.filter(workflow_id__in=workflows.values("pk")).select_related("worker")


def names(ids: Collection[UUID | None]) -> dict[UUID | None, str]:
    """What workers are called, by their ids; those that are gone are missing."""
    known = [one for one in ids if one is not None]
    return dict(Worker.objects.filter(pk__in=known).values_list("pk", "uid")) if known else {}
