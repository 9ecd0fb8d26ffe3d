"""The loop that binds workers to workflows, and lets them go: each turn serves all that can be served."""

from django.utils.timezone import now
from uuid_utils.compat import uuid7

from apps.jobs.models import Workflow
from apps.workers.models import Reservation, Worker
from tests import acts
from tests.jobs.aims import aimed, ids, open_only, workflow
from tests.jobs.test_reservations import bound, reserve, settle


def test_a_workflow_that_is_gone_gives_its_worker_back(queue, session):
    flow, _ = workflow(queue, jobs=1)
    made = bound(flow, session)
    acts.finish(session, *aimed(session, queue))
    Workflow.objects.filter(pk=flow.pk).delete()
    settle()
    made.refresh_from_db()
    assert (made.state, made.released_at is not None) == ("released", True)
    stranger = acts.enqueue(queue)
    assert ids(open_only(session, queue)) == {stranger}


def test_a_turn_looks_at_all_however_many_there_are(queue, session):
    organization = queue.project.organization
    Reservation.objects.bulk_create(Reservation(organization=organization, workflow_id=uuid7()) for _ in range(201))
    flow, _ = workflow(queue)
    made = reserve(flow)
    settle()
    made.refresh_from_db()
    assert made.worker_id == session.worker_id


def test_one_that_comes_too_late_for_a_worker_leaves_the_turn_to_the_others(queue, session, other, monkeypatch):
    """It looked before another reserved that worker, and holds it after."""
    taken, _ = workflow(queue)
    bound(taken, session)
    late, _ = workflow(queue)
    unlucky = reserve(late)
    flow, _ = workflow(queue)
    made = reserve(flow, other)
    monkeypatch.setattr("apps.jobs.services.settle.free_worker", lambda **_: session.worker_id)
    settle()
    for one in (unlucky, made):
        one.refresh_from_db()
    assert (unlucky.state, unlucky.worker_id, made.state) == ("pending", None, "bound")


def test_a_drained_worker_is_said_to_drain(queue, session):
    flow, _ = workflow(queue)
    made = bound(flow, session)
    Worker.objects.update(drained_at=now())
    settle()
    made.refresh_from_db()
    assert "drains" in made.last_error
