"""Whose workers may be reserved, and whom a name tells that there is one: nobody takes a worker from another organization."""

import pytest

from apps.errors import BadInput, Conflict, Forbidden, WorkerUnavailable
from apps.jobs import services
from apps.jobs.selectors.targets import targetable
from apps.workers.models import Reservation, Session
from tests.factories import QueueFactory, SessionFactory, WorkerFactory
from tests.jobs.aims import workflow
from tests.jobs.looks import ANN


@pytest.fixture
def theirs():
    """A queue of another organization."""
    return QueueFactory.create()


@pytest.fixture(params=["of every queue", "of both"])
def shared(request, queue, theirs) -> Session:
    return SessionFactory.create(queues=[] if request.param == "of every queue" else [queue.pk, theirs.pk])


def reserve(flow, session=None, **how) -> Reservation:
    return services.reserve(workflow_id=flow.pk, actor=ANN, worker=session.worker.uid if session else None, **how)


def test_a_worker_that_serves_others_too_is_not_taken_from_them(queue, shared):
    flow, _ = workflow(queue)
    with pytest.raises(Forbidden, match="serves others too"):
        reserve(flow, shared)
    assert not Reservation.objects.exists()


def test_nor_where_none_is_named(queue, shared):
    flow, _ = workflow(queue)
    made = reserve(flow)
    services.settle_reservations()
    made.refresh_from_db()
    assert (made.state, made.worker) == ("pending", None)
    assert "no other organization's" in made.last_error
    own = SessionFactory.create(queues=[queue.pk])
    services.settle_reservations()
    made.refresh_from_db()
    assert made.worker == own.worker


def test_nor_by_a_workflow_that_is_submitted_dedicated(queue, shared):
    asked = {"dedicated": True, "required_worker": shared.worker.uid}
    with pytest.raises(Forbidden):
        services.submit_workflow(
            project=queue.project, jobs=[{"name": "a", "type": "ping", "queue": queue.name}], actor=ANN, **asked
        )


def test_staff_may(queue, shared):
    flow, _ = workflow(queue)
    assert reserve(flow, shared, from_others=True).worker == shared.worker


def test_one_of_ones_own_serves_nobody_else(queue, theirs):
    own = SessionFactory.create(queues=[], worker=WorkerFactory.create(organization=queue.project.organization))
    flow, _ = workflow(queue)
    assert reserve(flow, own).worker == own.worker


def test_queues_that_are_gone_are_nobodys(queue, theirs):
    theirs.deleted_at = theirs.created_at
    theirs.save()
    flow, _ = workflow(queue)
    assert reserve(flow, SessionFactory.create(queues=[])).worker


def test_a_workflow_that_has_ended_takes_nobodys_worker(queue, theirs):
    flow, jobs = workflow(queue)
    for job_id in jobs:
        services.cancel(job_id=job_id, actor=ANN)
    with pytest.raises(Conflict, match="Nothing of this workflow"):
        reserve(flow, SessionFactory.create(queues=[theirs.pk]))
    assert not Reservation.objects.exists()


def test_of_a_worker_that_serves_nothing_of_theirs_nobody_is_told(queue, theirs):
    foreign = SessionFactory.create(queues=[theirs.pk])
    flow, _ = workflow(queue)
    for uid in (foreign.worker.uid, "nobody"):
        for ask in (
            lambda uid=uid: services.submit(queue=queue, type="ping", required_worker=uid),
            lambda uid=uid: services.reassign_workflow(workflow=flow, actor=ANN, worker=uid),
            lambda uid=uid: services.reserve(workflow_id=flow.pk, actor=ANN, worker=uid),
        ):
            with pytest.raises(BadInput, match="There is no such worker"):
                ask()


def test_one_that_serves_another_queue_of_theirs_is_known_to_them(queue, theirs):
    beside = QueueFactory.create(project=queue.project)
    one = SessionFactory.create(queues=[beside.pk, theirs.pk])
    with pytest.raises(WorkerUnavailable, match="does not serve the queue"):
        targetable(
            uid=one.worker.uid, organization_id=queue.project.organization_id, queues=[queue], pointer="#/worker"
        )
