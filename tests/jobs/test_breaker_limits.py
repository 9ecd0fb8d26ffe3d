"""A breaker beside a cap, shards and a rate: the gate that came for it counts nothing, and the cap holds all the same."""

import pytest

from apps.jobs.engine.gates import gates
from apps.jobs.engine.open_gates import open_gates
from apps.jobs.engine.reconcile import reconcile
from apps.queues.models import Gate
from apps.queues.services import queues as changes
from tests.acts import OFFERS, enqueue, finish, take
from tests.jobs.breakers import (
    FAIL,
    admitted,
    close_by_hand,
    cool,
    end,
    gate,
    look,
    open_by_hand,
    rules,
    state,
    try_once,
)
from tests.jobs.looks import ANN, run


def limit(queue, **fields):
    changes.update(queue=queue, actor=ANN, **fields)


def test_a_cap_that_comes_while_it_is_open_counts_what_nobody_had_counted(queue, session):
    rules(queue, trip=1)
    for _ in range(5):
        enqueue(queue)
    assert len(take(session, queue, limit=3)) == 3
    end(session, queue, FAIL)
    look()
    limit(queue, max_concurrency=3)
    assert gate(queue).opens_after is not None
    close_by_hand(queue)
    assert admitted(session, queue) == []
    open_gates()
    assert (gate(queue).in_flight, admitted(session, queue)) == (3, [])


@pytest.mark.parametrize("shards", [1, 4])
def test_a_cap_in_shards_that_comes_while_a_job_tries_is_not_refused(queue, session, shards):
    rules(queue, trip=1)
    end(session, queue, FAIL)
    look()
    cool(queue)
    for _ in range(8):
        enqueue(queue)
    [probe] = admitted(session, queue)
    limit(queue, max_concurrency=4, shards=shards)
    assert open_gates() == (queue.pk, True)
    finish(session, probe)
    look()
    assert len([job for _ in range(9) for job in admitted(session, queue)]) == 4


def test_a_cap_is_taken_off_while_it_is_open_and_jobs_run(queue, session):
    rules(queue, trip=1)
    limit(queue, max_concurrency=8, shards=4)
    open_gates()
    for _ in range(5):
        enqueue(queue)
    running = [job for _ in range(9) for job in admitted(session, queue, limit=1)]
    assert len(running) == 5
    open_by_hand(queue)
    limit(queue, max_concurrency=None)
    assert list(Gate.objects.values_list("shard", "breaker", "cap")) == [(0, "open", None)]
    assert len(finish(session, *running)) == 5


def test_what_runs_on_the_charge_of_a_cap_that_is_gone_is_no_drift(queue, session):
    rules(queue, trip=1)
    limit(queue, max_concurrency=2)
    open_gates()
    enqueue(queue)
    assert len(admitted(session, queue)) == 1
    limit(queue, max_concurrency=None)
    end(session, queue, FAIL)
    look()
    assert (gate(queue).in_flight, reconcile()) == (1, (queue.pk, []))  # and the invariants hold, see conftest


def test_the_one_that_tries_needs_a_place_in_any_shard_and_the_cap_holds(queue, session):
    """The first shard has none: what runs is counted in the second, and the cap became smaller."""
    rules(queue, trip=1)
    limit(queue, max_concurrency=10, shards=2)
    open_gates()
    for _ in range(12):
        enqueue(queue)
    running = [job for _ in range(12) for job in admitted(session, queue, limit=1)]
    by_shard = dict(run("SELECT id, shard FROM jobs_job_live WHERE state = 'running'"))
    finish(session, *[job for job in running if by_shard[job.job_id] == 0])
    kept = [job for job in running if by_shard[job.job_id] == 1]
    limit(queue, max_concurrency=len(kept))
    assert gate(queue).cap == 0
    open_by_hand(queue)
    cool(queue)
    assert admitted(session, queue) == gates(queues=[queue.pk], types=list(OFFERS), session_id=None) == []
    finish(session, kept.pop())
    assert len(gates(queues=[queue.pk], types=list(OFFERS), session_id=None)) == 1
    assert len(admitted(session, queue)) == 1
    close_by_hand(queue)
    assert [job for _ in range(5) for job in admitted(session, queue)] == []


def test_a_breaker_that_closes_leaves_a_cap_and_a_rate_as_they_were(queue, session):
    rules(queue, trip=1)
    limit(queue, max_concurrency=1, rate_per_second=0.001, burst=2)
    open_gates()
    end(session, queue, FAIL)
    look()
    try_once(session, queue, "success")
    assert (state(queue), gate(queue).cap, gate(queue).trips) == ("closed", 1, 0)
    assert admitted(session, queue) == []  # both tokens were spent
