"""A worker and a workflow that are bound to each other: neither has anything to do with anybody else."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction
from django.utils.timezone import now

from apps.audit.models import Entry
from apps.bench.services.invariants import broken
from apps.errors import Conflict, NotFound, WorkerUnavailable
from apps.jobs import services
from apps.jobs.engine.claim import claim
from apps.jobs.engine.gates import gates
from apps.jobs.models import Workflow
from apps.jobs.selectors.why import why_waiting
from apps.workers.engine.register import register
from apps.workers.models import Reservation, Session
from tests import acts
from tests.factories import OrganizationFactory, SessionFactory, WorkerFactory
from tests.jobs.aims import aimed, gated, ids, join, open_only, targets, workflow
from tests.jobs.looks import ANN, come_round, let_lapse, look, reap_all, run, state, told


def reserve(flow, session=None) -> Reservation:
    return services.reserve(workflow_id=flow.pk, actor=ANN, worker=session.worker.uid if session else None)


def why(job) -> Any:
    return why_waiting(look(job))


def settle(times=1):
    for _ in range(times):
        services.settle_reservations()


def bound(flow, session) -> Reservation:
    made = reserve(flow, session)
    settle()
    made.refresh_from_db()
    assert made.state == "bound", made.last_error
    return made


def test_the_workflow_runs_there_alone_and_the_worker_runs_nothing_else(queue, session, other):
    flow, jobs = workflow(queue, placement=None)
    bound(flow, session)
    stranger = acts.enqueue(queue, priority=9)
    mine = services.submit(queue=queue, type="ping", placement="job").id
    assert open_only(session, queue) == []
    assert ids(aimed(session, queue)) == set(jobs)
    assert ids(aimed(other, queue)) == {stranger, mine}


def test_a_queue_with_limits_has_nothing_open_for_it(queue, session, other):
    run("INSERT INTO queues_gate (queue_id, shard, cap, in_flight, tokens, breaker, trips)"
        " VALUES (%s, 0, 9, 0, 0, 'closed', 0)", [queue.pk])  # fmt: skip
    flow, jobs = workflow(queue, placement=None)
    bound(flow, session)
    acts.enqueue(queue)
    offers = {"queues": [queue.pk], "types": ["ping"]}
    assert len(gates(**offers, session_id=session.pk)) == 1
    assert ids(gated(session, queue)) == set(jobs)
    assert gates(**offers, session_id=session.pk) == []
    assert len(gates(**offers, session_id=other.pk)) == len(gates(**offers, session_id=None)) == 1


def test_until_it_is_bound_the_workflow_waits_and_says_why(queue, session, other):
    Session.objects.update(types=["ping"])
    flow, [job, _] = workflow(queue)
    reserve(flow, session)
    assert aimed(session, queue) == aimed(other, queue) == []
    waiting = why(job)
    assert [gate.code for gate in waiting.gates] == ["reservation_pending", "in_line"]
    assert session.worker.uid in waiting.says


def test_it_is_bound_when_what_ran_there_and_elsewhere_has_ended(queue, session, other):
    acts.enqueue(queue)
    foreign = acts.take_one(session, queue)
    flow, _ = workflow(queue, placement=None)
    elsewhere = acts.take_one(other, queue)
    made = reserve(flow, session)
    for last in (foreign, elsewhere):
        settle()
        assert Reservation.objects.get(pk=made.pk).state == "pending"
        acts.finish(session if last is foreign else other, last)
    settle()
    assert Reservation.objects.get(pk=made.pk).state == "bound"


def test_without_a_name_the_live_worker_that_has_least_to_do_is_taken(queue, session, other):
    acts.enqueue(queue)
    acts.take_one(session, queue)
    SessionFactory.create(draining=True)
    SessionFactory.create(worker=WorkerFactory.create(organization=OrganizationFactory.create()))
    acts.fall_silent(SessionFactory.create())
    flow, jobs = workflow(queue)
    made = reserve(flow)
    settle(2)
    made.refresh_from_db()
    assert (made.state, made.worker_id) == ("bound", other.worker_id)
    assert Workflow.objects.get(pk=flow.pk).assigned_worker == other.worker_id


def test_without_any_worker_it_waits_and_says_so(queue):
    flow, [job, _] = workflow(queue)
    made = reserve(flow)
    settle()
    made.refresh_from_db()
    assert (made.state, made.last_error) == (
        "pending",
        "No live worker that serves its queues, and no other organization's, is free of reservations.",
    )
    assert made.last_error in why(job).says


def test_two_workflows_do_not_have_one_worker_nor_one_workflow_two(queue, session, other):
    flow, _ = workflow(queue)
    second, _ = workflow(queue)
    bound(flow, session)
    with pytest.raises(WorkerUnavailable, match="reserved"):
        reserve(second, session)
    with pytest.raises(Conflict, match="reserved already"):
        reserve(flow, other)
    with pytest.raises(WorkerUnavailable, match="reserved"):
        services.submit(queue=queue, type="ping", required_worker=session.worker.uid)


def test_it_ends_with_its_workflow_and_the_worker_is_free(queue, session):
    flow, jobs = workflow(queue)
    made = bound(flow, session)
    acts.finish(session, *aimed(session, queue))
    settle()
    made.refresh_from_db()
    assert (made.state, made.released_at is not None) == ("released", True)
    stranger = acts.enqueue(queue)
    assert ids(open_only(session, queue)) == {stranger}
    assert [fact.kind for kind in ("pending", "bound", "released") for fact in told(f"reservation.{kind}")] == [
        "reservation.pending", "reservation.bound", "reservation.released",
    ]  # fmt: skip


def test_a_job_that_joins_waits_for_the_reservation_too(queue, session, other):
    flow, _ = workflow(queue, jobs=1)
    bound(flow, session)
    late = join(flow, queue, placement=None)
    assert aimed(other, queue) == []
    assert late in ids(aimed(session, queue))


def test_ended_by_hand_it_drains_what_runs_and_lets_the_rest_go(queue, session, other):
    flow, [first, second] = workflow(queue)
    made = bound(flow, session)
    [taken] = aimed(session, queue, limit=1)
    stranger = acts.enqueue(queue)
    assert services.end_reservation(reservation_id=made.pk, actor=ANN).state == "draining"
    assert targets(second) == [session.worker_id]
    assert aimed(session, queue) == []
    assert state(first) == "running"
    acts.finish(session, taken)
    assert look(first).state == "completed"
    settle()
    assert Reservation.objects.get(pk=made.pk).state == "released"
    assert ids(aimed(session, queue)) == {second, stranger}
    entries = Entry.objects.filter(target_id=str(made.pk)).order_by("id").values_list("action", "before", "after")
    assert list(entries)[-1] == ("reservation.end", {"state": "bound"}, {"state": "draining"})


def test_ended_while_nothing_runs_it_is_over_at_once(queue, session, other):
    flow, jobs = workflow(queue, placement=None)
    made = reserve(flow)
    assert services.end_reservation(reservation_id=made.pk, actor=ANN).state == "released"
    assert ids(open_only(other, queue)) == set(jobs)
    with pytest.raises(Conflict, match="released"):
        services.end_reservation(reservation_id=made.pk, actor=ANN)
    with pytest.raises(NotFound):
        services.end_reservation(reservation_id=flow.pk, actor=ANN)


def test_a_workflow_that_is_cancelled_while_it_runs_lets_its_worker_drain(queue, session):
    flow, [first, second] = workflow(queue)
    made = bound(flow, session)
    [taken] = aimed(session, queue, limit=1)
    services.cancel(job_id=second, actor=ANN)
    Workflow.objects.update(cancelled_at=now())
    settle()
    assert Reservation.objects.get(pk=made.pk).state == "draining"
    acts.finish(session, taken)
    settle()
    assert Reservation.objects.get(pk=made.pk).state == "released"


def test_a_lost_worker_leaves_it_waiting_and_its_next_boot_goes_on(queue, session, other):
    flow, [job] = workflow(queue, jobs=1)
    made = bound(flow, session)
    [taken] = aimed(session, queue)
    let_lapse(session)
    settle()
    made.refresh_from_db()
    assert made.state == "bound"  # whoever takes its jobs back has not given it up yet
    reap_all()
    settle()
    made.refresh_from_db()
    assert (made.state, made.generation) == ("pending", 2)
    assert "lost" in made.last_error
    assert aimed(other, queue) == []
    come_round(job)
    boot = register(uid=session.worker.uid, concurrency=5, lease_seconds=30, hostname="host", pid=2)
    again = Session.objects.get(pk=boot.session_id)
    assert again.reservation_id == made.pk
    settle()
    assert ids(aimed(again, queue)) == {job}
    assert look(job).reservation_generation == 2


@contextmanager
def planted(text, **params) -> Iterator[list[str]]:
    """Inside, a row was changed behind the backs of verbs and guards; answers which invariants see it."""
    with transaction.atomic():
        run("SELECT set_config('fencepost.guard', 'off', true)")
        run(text, params)
        yield [one.name for one in broken()]
        transaction.set_rollback(True)


def test_the_invariants_see_what_runs_where_it_must_not(queue, session, other):
    flow, [job] = workflow(queue, jobs=1)
    bound(flow, session)
    aimed(session, queue)
    stranger = acts.enqueue(queue)
    open_only(other, queue)
    move = "UPDATE jobs_job_live SET session_id = %(session)s WHERE id = %(job)s"
    with planted(move, session=session.pk, job=stranger) as seen:
        assert seen == ["reserved_both_ways"]
    with planted(move, session=other.pk, job=job) as seen:
        assert seen == ["reserved_both_ways"]
    kept = "UPDATE jobs_job_live SET placement = 'job', required_worker = %(worker)s WHERE id = %(job)s"
    with planted(kept, worker=session.worker_id, job=stranger) as seen:
        assert seen == ["bound_runs_there"]
    assert broken() == []


def test_a_claim_by_a_reservation_that_is_not_bound_gets_nothing(queue, session):
    flow, _ = workflow(queue)
    made = bound(flow, session)
    for state_ in ("pending", "draining"):
        Reservation.objects.filter(pk=made.pk).update(state=state_)
        assert aimed(session, queue) == open_only(session, queue) == []
    Reservation.objects.filter(pk=made.pk).update(state="bound")


def test_a_queue_with_limits_keeps_to_it_too(queue, session, other):
    run("INSERT INTO queues_gate (queue_id, shard, cap, in_flight, tokens, breaker, trips)"
        " VALUES (%s, 0, 9, 0, 0, 'closed', 0)", [queue.pk])  # fmt: skip
    flow, jobs = workflow(queue, placement=None)
    bound(flow, session)
    stranger = acts.enqueue(queue)
    assert ids(gated(other, queue)) == {stranger}
    assert ids(gated(session, queue)) == set(jobs)


def test_a_reserved_worker_that_asks_for_the_open_line_is_told_of_nothing(queue, session):
    flow, _ = workflow(queue)
    bound(flow, session)
    acts.enqueue(queue)
    got = claim(session_id=session.pk, queues=[queue.pk], offers=acts.OFFERS, limit=5)
    assert (got.jobs, got.candidates) == ([], 0)
