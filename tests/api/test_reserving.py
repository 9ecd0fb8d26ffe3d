"""Who may take a worker from others, over HTTP; and that nobody is told of workers that are none of theirs."""

import pytest

from apps.accounts.models import Role
from apps.workers.models import Reservation
from tests.api.caller import login_of, pointers, problem
from tests.factories import MembershipFactory, QueueFactory, SessionFactory
from tests.jobs.aims import workflow

pytestmark = pytest.mark.django_db


def test_a_shared_worker_is_reserved_by_staff_alone(api, queue, organization):
    shared = SessionFactory.create(queues=[queue.pk, QueueFactory.create().pk])
    flow, _ = workflow(queue)
    ask = {"workflow": str(flow.pk), "worker": shared.worker.uid}
    assert "serves others" in problem(api.post("reservations", ask), 403, "forbidden")["detail"]
    assert not Reservation.objects.exists()
    staff = MembershipFactory.create(organization=organization, role=Role.ADMIN, user__is_staff=True)
    assert login_of(staff.user).post("reservations", ask).status_code == 201


def test_of_workers_that_serve_nothing_of_yours_you_are_not_told(api, queue, jobs):
    foreign = SessionFactory.create(queues=[QueueFactory.create().pk])
    for uid in (foreign.worker.uid, "nobody"):
        refused = api.post(jobs, {"type": "ping", "required_worker": uid})
        assert (refused.status_code, pointers(refused)) == (400, ["#/required_worker"])
        assert "no such worker" in refused.json()["errors"][0]["detail"]
