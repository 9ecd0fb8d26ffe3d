"""Reservations in the admin: looked through, and ended by the same service."""

from django.urls import reverse

from apps.jobs import services
from apps.workers.models import Reservation
from tests import acts
from tests.admin.test_changes import entries, run
from tests.admin.test_lists import list_of, page_of
from tests.factories import SessionFactory
from tests.jobs.aims import aimed, workflow
from tests.jobs.looks import ANN


def reserve(queue, session=None) -> Reservation:
    flow, _ = workflow(queue, placement=None)
    made = services.reserve(workflow_id=flow.pk, actor=ANN, worker=session.worker.uid if session else None)
    services.settle_reservations()
    made.refresh_from_db()
    return made


def press(console, row):
    address = reverse("admin:workers_reservation_release", args=[row.pk])
    assert console.get(address).status_code == 405
    return console.post(address, follow=True).content.decode()


def test_the_list_tells_who_is_whose(console, queue, session):
    made = reserve(queue, session)
    body = console.get(list_of(made)).content.decode()
    for said in (str(made.workflow_id), session.worker.uid, "Bound", "Release"):
        assert said in body
    assert f"/workflows/{made.workflow_id}" in console.get(page_of(made)).content.decode()


def test_it_is_released_on_its_row(console, queue, session):
    made = reserve(queue, session)
    assert "is over" in press(console, made)
    made.refresh_from_db()
    assert made.state == "released"
    assert entries(made.pk) == ["reservation.create", "reservation.end"]
    assert "This reservation is released." in press(console, made)
    assert entries(made.pk) == ["reservation.create", "reservation.end"]


def test_it_ends_when_what_runs_has_ended(console, queue, session):
    made = reserve(queue, session)
    aimed(session, queue)
    assert "It ends once what runs" in press(console, made)
    made.refresh_from_db()
    assert made.state == "draining"


def test_some_are_released_together_and_one_that_refuses_holds_up_no_other(console, queue, session):
    made = [reserve(queue, one) for one in (session, SessionFactory.create(queues=[queue.pk]))]
    press(console, made[0])
    run(console, Reservation, "release_all", *made)
    assert set(Reservation.objects.values_list("state", flat=True)) == {"released"}


def test_who_may_only_look_releases_nothing(onlooker, queue, session):
    made = reserve(queue, session)
    assert onlooker.get(list_of(made)).status_code == 200
    assert onlooker.post(reverse("admin:workers_reservation_release", args=[made.pk])).status_code == 403
    made.refresh_from_db()
    assert made.state == "bound"


def test_no_form_changes_it(console, queue, session):
    made = reserve(queue, session)
    console.post(page_of(made), {"state": "released"})
    made.refresh_from_db()
    assert made.state == "bound"
    assert acts.take(session, queue) == []
