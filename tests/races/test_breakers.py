"""Breakers under a crowd: one opening, one probe, one verdict, whoever looks, claims or steers at the same time."""

import asyncio

import pytest
from django.db import transaction

from apps.audit.models import Entry
from apps.jobs import services
from apps.jobs.engine.open_gates import open_gates
from apps.jobs.engine.outcomes import Watch
from apps.jobs.engine.probes import probes
from apps.jobs.loops import Breakers
from apps.jobs.models import Job
from apps.queues import services as queues
from apps.queues.services import queues as changes
from apps.sql import open_async
from tests.acts import enqueue, finish, take_one
from tests.factories import SessionFactory
from tests.jobs.breakers import FAIL, admitted, cool, end, gate, let_try, look, rules, state
from tests.jobs.looks import ANN, run
from tests.races.stage import aside, meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def opened(queue, session, **fields):
    rules(queue, trip=1, **fields)
    end(session, queue, FAIL)
    assert look() == [queue.pk]


def openings(queue):
    return Entry.objects.filter(target_id=str(queue.pk), action="queue.breaker_open").count()


def running(queue):
    return Job.objects.filter(queue=queue, state="running").count()


@pytest.mark.parametrize("shards", [None, 1, 4])
def test_sixteen_claimers_at_a_half_open_gate_get_one_probe(queue, session, shards):
    opened(queue, session)
    if shards:
        changes.update(queue=queue, actor=ANN, max_concurrency=50, shards=shards)
        open_gate()
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 40)
    sessions = SessionFactory.create_batch(16, concurrency=100)
    for outcome in ("lost", "released", "retryable_error", "cancelled"):
        cool(queue)
        got = together(*[lambda one=one: (one, admitted(one, queue, limit=5)) for one in sessions])
        assert (sum(len(jobs) for _, jobs in got), running(queue)) == (1, 1)
        [(holder, probe)] = [(one, job) for one, jobs in got for job in jobs]
        assert (state(queue), gate(queue).probe_job) == ("half_open", probe.job_id)
        finish(holder, probe, outcome=outcome)
        look()


def open_gate():
    """As if nobody were under way who had begun before."""
    run("UPDATE queues_gate SET opens_after = 1 WHERE opens_after IS NOT NULL")
    assert open_gates()


def test_two_loops_at_once_open_once(queue, session):
    rules(queue, trip=2)
    end(session, queue, FAIL, FAIL)

    async def both():
        lines = [await open_async() for _ in range(2)]
        loops = [Breakers() for _ in lines]
        try:
            return await asyncio.gather(*[loop(line) for loop, line in zip(loops, lines, strict=True)])
        finally:
            for line in lines:
                await line.close()

    assert asyncio.run(both()) == [0.5, 0.5]
    assert (state(queue), gate(queue).trips, openings(queue)) == ("open", 1, 1)


def test_eight_who_found_the_same_failures_open_once(queue, session):
    rules(queue, trip=2)
    end(session, queue, FAIL, FAIL)
    [found] = Watch().look()
    answers = together(*[lambda: services.trip_breaker(found)] * 8)
    assert sorted(answers) == [False] * 7 + [True]
    assert (gate(queue).trips, openings(queue)) == (1, 1)


def test_failures_that_were_counted_before_it_closed_do_not_open_it_again(queue, session):
    rules(queue, trip=2)
    end(session, queue, FAIL, FAIL)
    [found] = Watch().look()
    assert services.trip_breaker(found)
    with meanwhile(lambda: services.trip_breaker(found)) as slow:
        services.set_breaker(queue=queue, actor=ANN, state="closed")
    assert slow.result() is False
    assert gate(queue) is None


def test_other_rules_that_are_made_while_it_trips_win(queue, session):
    rules(queue, trip=2)
    end(session, queue, FAIL, FAIL)
    [found] = Watch().look()
    with meanwhile(lambda: services.trip_breaker(found)) as slow:
        rules(queue, trip=9)
    assert slow.result() is False
    assert gate(queue) is None


def test_two_who_judge_the_same_probe_judge_once(queue, session):
    opened(queue, session)
    probe = let_try(session, queue)
    finish(session, probe, outcome=FAIL)
    _, [ended] = probes()
    together(*[lambda: services.judge_probe(ended)] * 6)
    assert (state(queue), gate(queue).trips, openings(queue)) == ("open", 2, 2)


def test_a_verdict_that_comes_twice_leaves_the_next_probe_alone(queue, session):
    opened(queue, session)
    probe = let_try(session, queue)
    finish(session, probe, outcome="released")
    _, [ended] = probes()
    services.judge_probe(ended)
    [following] = admitted(session, queue)
    services.judge_probe(ended)
    assert (gate(queue).probe_job, gate(queue).probe_fence) == (following.job_id, following.fence)
    assert admitted(session, queue) == []


def test_a_verdict_that_meets_an_operator_who_closes_it_does_nothing(queue, session):
    opened(queue, session)
    probe = let_try(session, queue)
    finish(session, probe, outcome=FAIL)
    _, [ended] = probes()
    with meanwhile(lambda: services.judge_probe(ended)) as judged:
        services.set_breaker(queue=queue, actor=ANN, state="closed")
    judged.result()
    assert gate(queue) is None
    assert len(admitted(session, queue)) == 0
    assert openings(queue) == 1


def test_a_claim_that_waits_while_it_is_opened_takes_nothing(queue, session):
    changes.update(queue=queue, actor=ANN, max_concurrency=5)
    open_gate()
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 3)
    with meanwhile(lambda: admitted(session, queue)) as claimed:
        queues.open_breaker(queue=queue, actor=ANN)
    assert claimed.result() == []
    assert running(queue) == 0


def test_an_end_that_is_committed_after_a_look_is_counted_by_the_next(queue, session):
    rules(queue, trip=2)
    enqueue(queue)
    taken = take_one(session, queue)
    watch = Watch()
    with transaction.atomic():
        finish(session, taken, outcome=FAIL)
        assert aside(watch.look) == aside(watch.look) == []
    end(session, queue, FAIL)
    assert look(watch) == [queue.pk]
