"""Jobs that are found before the gate is charged: whatever changes in between, a cap is never passed and nothing is lost."""

import asyncio
from collections.abc import Callable

import pytest
from django.db import DataError, transaction

from apps.audit.record import SYSTEM
from apps.bench.services.invariants import broken
from apps.jobs import services
from apps.jobs.engine import claim_roomy as engine
from apps.jobs.engine.claim import one_plan
from apps.jobs.engine.reconcile import reconcile
from apps.jobs.engine.report import Ended, report
from apps.queues.models import Gate
from apps.queues.services import queues
from apps.sql import open_async
from tests.factories import SessionFactory
from tests.jobs.looks import run
from tests.races.stage import aside, meanwhile, together
from tests.races.test_gates import OFFERS, SEVERAL, admitted, admitted_after, in_flight, limit, running

pytestmark = pytest.mark.usefixtures("arena")
JOB = 4  # the column of a claim's answer


@pytest.fixture(params=[OFFERS, SEVERAL], ids=["one type", "several"])
def between(request):
    """A claim of three jobs, with something else done after they are found and before they are charged."""

    def claim(queue, session, act: Callable[[], object]):
        with transaction.atomic():
            find(session, queue, 3, request.param)
            aside(act)
            engine._charge(queue_id=queue.pk)

    return claim


def find(session, queue, limit, offers):
    """The first half of a claim."""
    one_plan()
    statement, asked = engine._found(session.pk, queue.pk, offers, limit)
    assert len([row for row in statement(**asked) if row[JOB] is not None]) == limit


@pytest.mark.parametrize(
    "act",
    [
        lambda queue: queues.update(queue=queue, actor=SYSTEM, max_concurrency=2),
        lambda queue: queues.update(queue=queue, actor=SYSTEM, max_concurrency=None),
        lambda queue: services.set_breaker(queue=queue, actor=SYSTEM, state="open"),
    ],
    ids=["a smaller cap", "no limits", "an open breaker"],
)
def test_what_was_found_under_limits_that_are_no_more_is_not_claimed(queue, act, between):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    limit(queue, max_concurrency=100)
    with pytest.raises(DataError, match="no place left"):
        between(queue, SessionFactory.create(concurrency=9), lambda: act(queue))
    assert running(queue) == in_flight(queue) == 0


def test_a_shard_that_is_gone_is_not_charged(queue, between):
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


@pytest.mark.parametrize("offers", [OFFERS, SEVERAL], ids=["one type", "several"])
def test_whoever_finds_a_job_in_others_hands_takes_the_next(queue, offers):
    first, second, _, _, _ = [
        one.job_id for one in services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5).jobs
    ]
    limit(queue, max_concurrency=100)
    one, other = SessionFactory.create_batch(2, concurrency=9)
    with transaction.atomic():
        find(one, queue, 1, offers)
        [taken] = aside(lambda: admitted_after(other, queue, limit=1, offers=offers))
        engine._charge(queue_id=queue.pk)
    assert taken.job_id == second
    assert running(queue) == in_flight(queue) == 2


def test_a_cap_that_still_has_room_is_charged_although_it_changed(queue, between):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    limit(queue, max_concurrency=100)
    between(
        queue,
        SessionFactory.create(concurrency=9),
        lambda: queues.update(queue=queue, actor=SYSTEM, max_concurrency=3),
    )
    assert running(queue) == in_flight(queue) == 3


def come_and_go(queue, number):
    """Others claim so many, every other one by holding the gate first, and end them."""
    session = SessionFactory.create(concurrency=number)
    for turn in range(number):
        way = admitted if turn % 2 else admitted_after
        [taken] = way(session, queue, limit=1)
        report(ended=[Ended(taken.job_id, taken.fence, session.pk, "success")])


def test_who_would_have_found_no_place_had_nobody_left_is_turned_away(queue, between):
    """What it found had begun before they came: the ledger would show 101 runs at once."""
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 110)
    limit(queue, max_concurrency=100)
    assert len(admitted(SessionFactory.create(concurrency=60), queue, limit=60)) == 60
    with pytest.raises(DataError, match="no place left"):
        between(queue, SessionFactory.create(concurrency=9), lambda: come_and_go(queue, 38))
    assert running(queue) == in_flight(queue) == 60
    assert broken() == []


def test_a_gate_that_was_found_to_be_full_is_not_charged(queue, between):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    limit(queue, max_concurrency=100)
    with pytest.raises(DataError, match="no place left"):
        between(
            queue,
            SessionFactory.create(concurrency=9),
            lambda: run("UPDATE queues_gate SET in_flight = cap - 2"),  # as reconcile would
        )
    run("UPDATE queues_gate SET in_flight = 0")
    assert running(queue) == 0


def test_who_would_have_found_a_place_all_the_same_is_charged(queue, between):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 120)
    limit(queue, max_concurrency=100)
    come_and_go(queue, 80)  # whoever left before it looked is in nobody's way
    between(queue, SessionFactory.create(concurrency=9), lambda: come_and_go(queue, 30))
    assert running(queue) == in_flight(queue) == 3
    assert broken() == []


@pytest.mark.parametrize("offers", [OFFERS, SEVERAL], ids=["one type", "several"])
def test_no_moment_of_a_crowd_at_the_brim_shows_a_run_too_many(queue, offers):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 600)
    limit(queue, max_concurrency=20)

    def turn(session):
        for _ in range(25):
            taken = admitted_after(session, queue, limit=6, offers=offers)
            if taken:
                report(ended=[Ended(one.job_id, one.fence, session.pk, "success") for one in taken])

    together(*[lambda one=one: turn(one) for one in SessionFactory.create_batch(6, concurrency=20)])
    assert running(queue) == in_flight(queue) == 0
    assert broken() == []


def test_shards_dealt_anew_have_admitted_no_less_than_before(queue):
    """Or who looked before would be judged by a count that began again."""
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 20)
    limit(queue, max_concurrency=100, shards=2)
    come_and_go(queue, 9)
    most = max(gate.admitted for gate in Gate.objects.filter(queue=queue))
    limit(queue, shards=8)
    assert most > 0
    assert [gate.admitted for gate in Gate.objects.filter(queue=queue)] == [most] * 8


def test_a_worker_that_is_turned_away_holds_the_gate_first_the_next_time(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 10)
    limit(queue, max_concurrency=100)
    session = SessionFactory.create(concurrency=9)

    async def claim():
        line = await open_async()
        async with line:
            return await engine.claim_roomy_on(line, session_id=session.pk, queue_id=queue.pk, offers=OFFERS, limit=5)

    with meanwhile(lambda: asyncio.run(claim())) as turned_away:
        run("UPDATE queues_gate SET admitted = admitted + 100")  # others came, and left again
    assert len(turned_away.result().jobs) == 5
    assert running(queue) == in_flight(queue) == 5


def test_who_waits_for_the_gate_sees_what_was_charged_meanwhile(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 10)
    limit(queue, max_concurrency=4)
    one, other = SessionFactory.create_batch(2, concurrency=100)
    with meanwhile(lambda: admitted_after(other, queue, limit=2)) as second:
        assert len(admitted_after(one, queue, limit=3)) == 3
    assert second.result() == []
    assert running(queue) == in_flight(queue) == 3


def test_reconcile_that_meets_a_claim_waits_and_counts_it(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 4)
    limit(queue, max_concurrency=4)
    session = SessionFactory.create(concurrency=100)
    with meanwhile(reconcile) as looking:
        assert len(admitted_after(session, queue, limit=2)) == 2
    assert looking.result() == (queue.pk, [])
    assert running(queue) == in_flight(queue) == 2
