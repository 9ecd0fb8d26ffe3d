"""Which worker is reserved for which workflow, as those may see it who look at a project."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from apps.accounts.models import Project, User
from apps.accounts.selectors.callers import caller_of_user
from apps.accounts.selectors.reach import role_of
from apps.dashboard.selectors.access import Seat
from apps.errors import NotFound
from apps.jobs.models import Workflow
from apps.jobs.selectors.targets import reservations
from apps.jobs.selectors.workflows import reachable_workflows
from apps.workers.models import Reservation, ReservationState


@dataclass(frozen=True, slots=True)
class Reserved:
    """A reservation that is not over. `workflow` is None for one of another project, of which nothing else is told."""

    reservation: Reservation
    workflow: Workflow | None

    @property
    def may_be_released(self) -> bool:
        """Not what drains: that ends by itself."""
        return self.workflow is not None and self.reservation.state != ReservationState.DRAINING


def reserved_workers(*, project: Project, worker_ids: Collection[UUID]) -> dict[UUID, Reserved]:
    """What these workers are reserved for, those that are."""
    standing = Reservation.objects.exclude(state=ReservationState.RELEASED).filter(worker_id__in=worker_ids)
    found = list(standing)
    mine = Workflow.objects.filter(project=project).in_bulk([one.workflow_id for one in found])
    return {one.worker_id: Reserved(one, mine.get(one.workflow_id)) for one in found if one.worker_id}


def reservation_of(workflow: Workflow) -> Reserved | None:
    """The reservation of a workflow, with its worker where it has one."""
    standing = reservations(project_id=workflow.project_id).exclude(state=ReservationState.RELEASED)
    found = standing.filter(workflow_id=workflow.pk).first()
    return Reserved(found, workflow) if found else None


def reservation_seat(user: User, reservation_id: UUID) -> tuple[Reservation, Seat]:
    """A reservation and the seat from which it is seen, by way of its workflow; NotFound for a stranger's as for none."""
    reservation = Reservation.objects.filter(pk=reservation_id).first()
    rows = reachable_workflows(caller_of_user(user)).select_related("project__organization")
    workflow = rows.filter(pk=reservation.workflow_id).first() if reservation else None
    if reservation is None or workflow is None:
        raise NotFound
    return reservation, Seat(workflow.project, role_of(workflow))
