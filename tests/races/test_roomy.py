"""Jobs that are found before the gate is charged: whatever changes in between, a cap is never passed and nothing is lost."""

from collections.abc import Callable

import pytest
from django.db import DataError, transaction

from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.engine import claim_roomy as engine
from apps.jobs.engine.claim import one_plan
from apps.jobs.engine.claim_gated import params
from apps.jobs.engine.reconcile import reconcile
from apps.queues.services import queues
from tests.factories import SessionFactory
from tests.jobs.looks import run
from tests.races.stage import aside, meanwhile
from tests.races.test_gates import OFFERS, admitted_after, in_flight, limit, running

pytestmark = pytest.mark.usefixtures("arena")


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
        [taken] = aside(lambda: admitted_after(other, queue, limit=1))
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


def begun_after_found(queue) -> float:
    """Microseconds: a fence tells by the clock when its job was found."""
    [[least]] = run(
        "SELECT min(extract(EPOCH FROM started_at) * 1000000 - fence)::float8 FROM jobs_job_live"
        " WHERE queue_id = %s AND state = 'running'",
        [queue.pk],
    )
    return float(least)


def test_a_run_in_a_gate_that_is_not_roomy_any_more_counts_from_its_charge(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    limit(queue, max_concurrency=102)
    assert len(admitted_after(SessionFactory.create(concurrency=9), queue, limit=3)) == 3
    assert (
        begun_after_found(queue) > 40
    )  # a round trip lies between; one clock read twice is a microsecond or two apart


def test_a_run_whose_charge_took_its_time_counts_from_then(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    limit(queue, max_concurrency=500)
    between(queue, SessionFactory.create(concurrency=9), lambda: run("SELECT pg_sleep(0.01)"))
    assert begun_after_found(queue) > 10_000


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
