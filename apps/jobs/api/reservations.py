"""Reservations: a worker for one workflow alone."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.once import Made, once
from apps.accounts.api.paging import Pager
from apps.accounts.api.schema import tells
from apps.accounts.serializers.accounts import page_of
from apps.jobs import services
from apps.jobs.api import examples
from apps.jobs.api.read import Somewhere
from apps.jobs.selectors.targets import reservations
from apps.jobs.selectors.workflows import reachable_workflows
from apps.jobs.serializers import answers, bodies
from apps.workers.models import Reservation


class Reservations(Somewhere):
    route = "reservations"

    @tells(
        "List reservations",
        answer=page_of(answers.ReservationAnswer),
        example=examples.page(examples.RESERVATION),
        paged=True,
        query=bodies.WhereQuery,
    )
    def get(self, request: Request) -> Response:
        """Those of a project's workflows, newest first; what is over stays in the list."""
        _, project, _ = self.where()
        pager = Pager(request, within=project.pk)
        rows = pager.rows(reservations(project_id=project.pk))
        return Response(pager.answer(rows, shown, lambda row: row.pk))

    @tells(
        "Reserve a worker",
        ask=bodies.NewReservation,
        answer=answers.ReservationAnswer,
        status=201,
        asks={"workflow": examples.RESERVATION["workflow"], "worker": "press-2"},
        example={**examples.RESERVATION, "state": "pending"},
        keyed=True,
        refusals=(409,),
    )
    def post(self, request: Request) -> Response:
        """From now on nothing of the workflow starts anywhere, and nothing else on the worker, until what runs has
        ended; then they have each other alone, until the workflow is over. A worker that serves other organizations
        too is reserved by staff alone (403), and never chosen where none is named."""
        fields = self.body(bodies.NewReservation)
        workflow = self.reach(reachable_workflows(self.caller), pk=fields["workflow"])

        def make() -> Made:
            staff = self.caller.user.is_staff
            worker = fields.get("worker")
            made = services.reserve(workflow_id=workflow.pk, actor=self.actor, worker=worker, from_others=staff)
            return Made([made.pk], shown(made))

        def show(ids: list[UUID]) -> dict[str, Any]:
            return shown(reservations(project_id=workflow.project_id).get(pk__in=ids))

        return once(request, scope_id=workflow.project_id, make=make, show=show)


class OneReservation(Endpoint):
    route = "reservation"

    @tells("Show a reservation", answer=answers.ReservationAnswer, example=examples.RESERVATION)
    def get(self, request: Request, reservation: UUID) -> Response:
        return Response(shown(self._reached(reservation)))

    @tells(
        "End a reservation",
        answer=answers.ReservationAnswer,
        example={**examples.RESERVATION, "state": "draining"},
        refusals=(409,),
    )
    def delete(self, request: Request, reservation: UUID) -> Response:
        """At once where nothing of the workflow runs; else it drains: the worker starts nothing until that has ended,
        and what waits may run elsewhere."""
        found = self._reached(reservation)
        return Response(shown(services.end_reservation(reservation_id=found.pk, actor=self.actor)))

    def _reached(self, reservation: UUID) -> Reservation:
        """By way of its workflow, which is of a project."""
        workflow_id = Reservation.objects.filter(pk=reservation).values("workflow_id")
        workflow = self.reach(reachable_workflows(self.caller), pk__in=workflow_id)
        return reservations(project_id=workflow.project_id).get(pk=reservation)


def shown(reservation: Reservation) -> dict[str, Any]:
    return answers.ReservationAnswer(reservation).data
