"""Reservations that meet claims, boots, ends and each other: nobody foreign ever runs there, and nothing of it elsewhere."""

from typing import Any

import pytest
from django.db import transaction

from apps.audit.record import SYSTEM
from apps.bench.services.invariants import broken
from apps.errors import Conflict, WorkerUnavailable
from apps.jobs import services
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.models import Job
from apps.jobs.services.join import hold_workflow
from apps.sql import open_own
from apps.workers.engine.register import register
from apps.workers.models import Reservation, Session
from tests import acts
from tests.factories import SessionFactory
from tests.jobs.aims import aimed, ids, open_only, targets, workflow
from tests.processes import until
from tests.races.stage import aside, meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def reserve(flow, session):
    return services.reserve(workflow_id=flow.pk, actor=SYSTEM, worker=session.worker.uid)


def state(made):
    return Reservation.objects.get(pk=made.pk).state


def test_a_claim_that_could_not_see_the_reservation_is_waited_for(queue):
    """Its snapshot is older; what it takes commits after the reservation, and is foreign there."""
    session = SessionFactory.create()
    flow, _ = workflow(queue)
    stranger = acts.enqueue(queue)
    with open_own() as late:
        late.autocommit = False
        late.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        late.execute("SELECT count(*) FROM jobs_job_live")  # as a claim does that has just begun
        made = reserve(flow, session)
        services.settle_reservations()
        assert state(made) == "pending"
        late.commit()
    services.settle_reservations()
    assert state(made) == "bound"
    assert open_only(session, queue) == []
    assert Job.objects.get(pk=stranger).state == "queued"


def test_claims_and_reservations_that_cross_leave_no_foreign_job(queue):
    sessions = SessionFactory.create_batch(2, concurrency=1000)
    for _round in range(6):
        flow, _ = workflow(queue, jobs=3, placement=None)
        for _ in range(10):
            acts.enqueue(queue)
        calls = [lambda one=one: aimed(one, queue, limit=4) for one in sessions for _ in range(2)]
        made, *taken = together(lambda: reserve(flow, sessions[0]), *calls)  # noqa: B023 — it has ended by then
        for _ in range(3):
            services.settle_reservations()
            assert broken() == []
            finish_all()
        assert state(made) in ("bound", "released")
        aimed(sessions[0], queue)
        finish_all()
        services.settle_reservations()
        assert state(made) == "released"


def finish_all():
    for job in Job.objects.filter(shelved_on=None, state="running"):
        services.cancel(job_id=job.pk, actor=SYSTEM, force=True)


def test_of_two_workflows_that_want_one_worker_one_gets_it(queue):
    session = SessionFactory.create()
    flows = [workflow(queue)[0] for _ in range(2)]

    def attempt(flow):
        try:
            return reserve(flow, session)
        except WorkerUnavailable:
            return None

    got = together(*[lambda one=one: attempt(one) for one in flows])
    assert [one is None for one in got].count(True) == 1


def test_a_submission_that_loses_a_worker_is_told_by_the_field_that_named_it(queue):
    session = SessionFactory.create()
    flow, _ = workflow(queue)
    fields: dict[str, Any] = {"dedicated": True, "required_worker": session.worker.uid}
    jobs = [{"name": "a", "queue": queue.name, "type": "ping"}]
    with meanwhile(lambda: services.submit_workflow(project=queue.project, jobs=jobs, **fields)) as late:
        reserve(flow, session)
    refusal = late.exception()
    assert isinstance(refusal, WorkerUnavailable)
    assert [fault.pointer for fault in refusal.errors] == ["#/required_worker"]


def test_of_two_reservations_of_one_workflow_one_is_made(queue):
    sessions = SessionFactory.create_batch(2)
    flow, _ = workflow(queue)

    def attempt(session):
        try:
            return reserve(flow, session)
        except Conflict:
            return None

    got = together(*[lambda one=one: attempt(one) for one in sessions])
    assert [one is None for one in got].count(True) == 1


def test_a_boot_that_meets_the_reservation_of_its_worker_is_closed_too(queue):
    session = SessionFactory.create()
    flow, _ = workflow(queue)
    uid = session.worker.uid
    with meanwhile(lambda: register(uid=uid, concurrency=5, lease_seconds=30, hostname="host", pid=2)) as boot:
        made = reserve(flow, session)
    again = Session.objects.get(pk=boot.result().session_id)
    assert again.reservation_id == made.pk


def test_a_submission_that_waited_for_the_reservation_is_reserved_too(queue):
    session = SessionFactory.create()
    flow, _ = workflow(queue)
    with meanwhile(lambda: services.submit(queue=queue, type="ping", workflow=flow.pk)) as late:
        made = reserve(flow, session)
    assert targets(late.result().pk) == [made.pk]


def test_what_is_published_behind_the_reservation_is_reserved_too(queue):
    session, other = SessionFactory.create_batch(2)
    flow, _ = workflow(queue, jobs=1, placement=None)
    [taken] = open_only(other, queue)
    follow = (NewJob(queue_id=queue.pk, type="ping", anywhere=True),)
    with meanwhile(lambda: acts.finish(other, taken, follow=follow, workflow_id=flow.pk)) as ended:
        made = reserve(flow, session)
    assert ended.result()
    assert targets(follow[0].id) == [made.pk]


def test_a_job_that_is_being_reserved_is_not_given_away(queue):
    """Whoever gives it away holds the workflow before the job, as all do, and then asks."""
    session, other = SessionFactory.create_batch(2)
    flow, [job] = workflow(queue, jobs=1, placement=None)
    with meanwhile(lambda: services.reassign(job_id=job, actor=SYSTEM, worker=other.worker.uid)) as given:
        hold_workflow(flow.pk)
        given.meet()
        reserve(flow, session)
    assert isinstance(given.exception(), Conflict)


def test_a_workflow_that_is_being_reserved_is_not_given_away(queue):
    session, other = SessionFactory.create_batch(2)
    flow, _ = workflow(queue)
    with meanwhile(lambda: services.reassign_workflow(workflow=flow, actor=SYSTEM, worker=other.worker.uid)) as given:
        reserve(flow, session)
    assert isinstance(given.exception(), Conflict)


def test_an_end_by_hand_waits_for_the_claim_that_goes_by_it(queue):
    session = SessionFactory.create()
    flow, jobs = workflow(queue, jobs=1)
    made = reserve(flow, session)
    services.settle_reservations()
    with meanwhile(lambda: services.end_reservation(reservation_id=made.pk, actor=SYSTEM)) as ended:
        assert ids(aimed(session, queue)) == set(jobs)
    assert ended.result().state == "draining"


def test_schedulers_that_settle_at_once_settle_once(queue):
    sessions = SessionFactory.create_batch(3)
    flows = [workflow(queue)[0] for _ in range(3)]
    for flow in flows:
        services.reserve(workflow_id=flow.pk, actor=SYSTEM)
    got = Reservation.objects.filter(workflow_id__in=[flow.pk for flow in flows])

    def all_bound():  # who meets another at a worker leaves it for the next look
        together(*[services.settle_reservations] * 4)
        return {one.state for one in got.all()} == {"bound"}

    until(all_bound)
    assert {one.worker_id for one in got} == {one.worker_id for one in sessions}


def test_a_reservation_that_somebody_looks_at_is_left_to_them(queue):
    SessionFactory.create()
    flow, _ = workflow(queue)
    made = services.reserve(workflow_id=flow.pk, actor=SYSTEM)
    with transaction.atomic():
        Reservation.objects.select_for_update(no_key=True).get(pk=made.pk)
        aside(services.settle_reservations)
    assert Reservation.objects.get(pk=made.pk).worker_id is None
