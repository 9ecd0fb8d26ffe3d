"""Reservations on the pages of workers and workflows: who is whose, and how they are let go of each other."""

import pytest
from django.urls import reverse

from apps.accounts.models import Role
from apps.audit.models import Entry
from apps.jobs import services
from apps.queues.models import Queue
from apps.workers.models import Reservation
from tests import acts
from tests.factories import ProjectFactory, QueueFactory
from tests.jobs.aims import aimed, workflow
from tests.jobs.looks import ANN
from tests.pages.looks import elements_of, text_of


def reserve(queue: Queue, session, *, name="film", settle=True) -> Reservation:
    flow, _ = workflow(queue, placement=None)
    flow.name = name
    flow.save(update_fields=["name"])
    made = services.reserve(workflow_id=flow.pk, actor=ANN, worker=session.worker.uid if session else None)
    if settle:
        services.settle_reservations()
    made.refresh_from_db()
    return made


def release(browser, reservation, **data):
    return browser.post(reverse("dashboard:release", args=[reservation.pk]), data, follow=True)


def offered(page) -> bool:
    return any("/release" in (attrs.get("action") or "") for _, attrs in elements_of(page))


def test_a_worker_says_for_which_workflow_it_is_reserved(viewer, queue, session):
    made = reserve(queue, session)
    page = viewer.get("/workers")
    assert "reserved for film" in text_of(page)
    assert "bound" in text_of(page)
    assert f"/workflows/{made.workflow_id}" in page.content.decode()


def test_a_workflow_says_which_worker_it_holds(viewer, queue, session):
    made = reserve(queue, session)
    assert f"for the worker {session.worker.uid}" in text_of(viewer.get(f"/workflows/{made.workflow_id}"))


def test_a_workflow_that_waits_for_one_says_so_and_why(viewer, queue):
    made = reserve(queue, None)
    page = text_of(viewer.get(f"/workflows/{made.workflow_id}"))
    assert "it waits for a worker of its own" in page
    assert "No live worker" in page


def test_of_a_reservation_of_another_project_nothing_else_is_told(admin, queue, session):
    theirs = QueueFactory.create(project=ProjectFactory.create(organization=queue.project.organization))
    made = reserve(theirs, session, name="secret film")
    page = admin.get(f"/workers?project={queue.project_id}")
    assert "reserved for another project" in text_of(page)
    assert "secret film" not in text_of(page)
    assert str(made.workflow_id) not in page.content.decode()
    assert not offered(page)


@pytest.mark.parametrize("place", ["/workers", "/workflows/{}"])
def test_only_who_may_release_is_offered_it(place, enter, queue, session):
    made = reserve(queue, session)
    for role in Role:
        page = enter(role).get(place.format(made.workflow_id))
        assert offered(page) == (role.level >= Role.ADMIN.level), role


def test_an_admin_releases_it_and_both_are_free_again(admin, queue, session):
    made = reserve(queue, session)
    seen = text_of(release(admin, made, next="/workers"))
    assert "Released: the worker is free" in seen
    assert "reserved for" not in seen
    made.refresh_from_db()
    assert made.state == "released"
    entry = Entry.objects.get(action="reservation.end")
    assert (entry.before, entry.after) == ({"state": "bound"}, {"state": "released"})
    assert acts.enqueue(queue) in {one.job_id for one in acts.take(session, queue, limit=20)}


def test_what_still_runs_there_holds_the_worker_until_it_has_ended(admin, queue, session):
    made = reserve(queue, session)
    aimed(session, queue)
    page = release(admin, made)
    assert "as soon as what runs there has ended" in text_of(page)
    assert "draining" in text_of(page)
    assert not offered(page)
    assert "draining" in text_of(release(admin, made))
    made.refresh_from_db()
    assert made.state == "draining"


def test_one_that_is_over_is_shown_nowhere(viewer, queue, session):
    made = reserve(queue, session)
    services.end_reservation(reservation_id=made.pk, actor=ANN)
    for place in ("/workers", f"/workflows/{made.workflow_id}"):
        assert "reserved" not in text_of(viewer.get(place)).lower()
