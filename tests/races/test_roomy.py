"""Jobs that are found before the gate is charged: whatever changes in between, a cap is never passed and nothing is lost."""

from collections.abc import Callable

import pytest
from django.db import DataError, transaction

from apps.audit.record import SYSTEM
from apps.errors import InUse
from apps.jobs import services
from apps.jobs.engine import claim_roomy as engine
from apps.jobs.engine.claim import one_plan
from apps.jobs.engine.claim_gated import params
from apps.jobs.engine.claim_roomy import claim_roomy
from apps.jobs.engine.reconcile import reconcile
from apps.jobs.engine.report import Ended, report
from apps.queues.services import queues
from tests.factories import SessionFactory
from tests.jobs.looks import run
from tests.races.stage import aside, meanwhile, together
from tests.races.test_gates import OFFERS, in_flight, limit, running

pytestmark = pytest.mark.usefixtures("arena")


def admitted(session, queue, *, limit=2):
    try:
        return claim_roomy(session_id=session.pk, queue_id=queue.pk, offers=OFFERS, limit=limit).jobs
    except DataError:  # no place left
        return []


@pytest.mark.parametrize("shards", [1, 4])
def test_a_crowd_that_comes_to_the_last_places_does_not_pass_the_cap(queue, shards):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 100)
    limit(queue, max_concurrency=10, shards=shards)
    sessions = SessionFactory.create_batch(8, concurrency=100)
    for _round in range(8):
        together(*[lambda one=one: admitted(one, queue) for one in sessions])
        assert running(queue) == in_flight(queue) <= 10
    assert running(queue) == 10


def test_ends_and_claims_that_cross_leave_the_count_right(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 90)
    limit(queue, max_concurrency=8, shards=2)
    sessions = SessionFactory.create_batch(6, concurrency=100)

    def turn(session):
        for _ in range(8):
            taken = admitted(session, queue)
            ends = [
                Ended(job_id=job.job_id, fence=job.fence, session_id=session.pk, outcome="success") for job in taken
            ]
            report(ended=ends)

    together(*[lambda one=one: turn(one) for one in sessions])
    assert running(queue) == in_flight(queue) == 0


def between(queue, session, act: Callable[[], object]):
    """A claim of three jobs, with something else done after they are found and before they are charged."""
    with transaction.atomic():
        one_plan()
        rows = engine._claim(**params(session.pk, queue.pk, OFFERS, 3))
        assert rows[0][0] == 5
        aside(act)
        engine._charge(queue_id=queue.pk)


@pytest.mark.parametrize(
    "act",
    [
        lambda queue: queues.update(queue=queue, actor=SYSTEM, max_concurrency=2),
        lambda queue: queues.update(queue=queue, actor=SYSTEM, max_concurrency=None),
        lambda queue: services.set_breaker(queue=queue, actor=SYSTEM, state="open"),
    ],
    ids=["a smaller cap", "no limits", "an open breaker"],
)
def test_what_was_found_under_limits_that_are_no_more_is_not_claimed(queue, act):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    limit(queue, max_concurrency=100)
    with pytest.raises(DataError, match="no place left"):
        between(queue, SessionFactory.create(concurrency=9), lambda: act(queue))
    assert running(queue) == in_flight(queue) == 0


def test_a_shard_that_is_gone_is_not_charged(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    limit(queue, max_concurrency=100, shards=2)
    run("UPDATE queues_gate SET in_flight = cap WHERE shard = 0")  # so that the other is taken
    with pytest.raises(DataError, match="no place left"):
        between(
            queue,
            SessionFactory.create(concurrency=9),
            lambda: run("DELETE FROM queues_gate WHERE shard = 1"),
        )
    run("UPDATE queues_gate SET in_flight = 0")
    assert running(queue) == 0


def test_whoever_finds_a_job_in_others_hands_takes_the_next(queue):
    first, second, _, _, _ = [
        one.job_id for one in services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5).jobs
    ]
    limit(queue, max_concurrency=100)
    one, other = SessionFactory.create_batch(2, concurrency=9)
    with transaction.atomic():
        one_plan()
        engine._claim(**params(one.pk, queue.pk, OFFERS, 1))
        [taken] = aside(lambda: admitted(other, queue, limit=1))
        engine._charge(queue_id=queue.pk)
    assert taken.job_id == second
    assert running(queue) == in_flight(queue) == 2


def test_a_cap_that_still_has_room_is_charged_although_it_changed(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    limit(queue, max_concurrency=100)
    between(
        queue,
        SessionFactory.create(concurrency=9),
        lambda: queues.update(queue=queue, actor=SYSTEM, max_concurrency=3),
    )
    assert running(queue) == in_flight(queue) == 3


def test_who_waits_for_the_gate_sees_what_was_charged_meanwhile(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 10)
    limit(queue, max_concurrency=4)
    one, other = SessionFactory.create_batch(2, concurrency=100)
    with meanwhile(lambda: admitted(other, queue, limit=2)) as second:
        assert len(admitted(one, queue, limit=3)) == 3
    assert second.result() == []
    assert running(queue) == in_flight(queue) == 3


def test_reconcile_that_meets_a_claim_waits_and_counts_it(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 4)
    limit(queue, max_concurrency=4)
    session = SessionFactory.create(concurrency=100)
    with meanwhile(reconcile) as looking:
        assert len(admitted(session, queue)) == 2
    assert looking.result() == (queue.pk, [])
    assert running(queue) == in_flight(queue) == 2


def test_shards_and_claims_at_once_never_admit_an_eleventh(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 40)
    limit(queue, max_concurrency=10)
    sessions = SessionFactory.create_batch(4, concurrency=100)

    def deal():
        try:
            queues.update(queue=queue, actor=SYSTEM, shards=8)
        except InUse:
            return

    together(deal, *[lambda one=one: admitted(one, queue, limit=4) for one in sessions])
    for session in sessions:
        admitted(session, queue)
    assert running(queue) == in_flight(queue) <= 10
