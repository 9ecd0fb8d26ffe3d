"""While a breaker is not closed one job at a time tries; a success closes it, a failure opens it for longer."""

import pytest

from apps.jobs.engine.gates import gates
from apps.jobs.engine.reap import reap
from tests.acts import OFFERS, enqueue, finish, take
from tests.jobs.breakers import (
    FAIL,
    admitted,
    cool,
    cooldown,
    end,
    gate,
    let_try,
    look,
    rules,
    state,
    try_once,
)
from tests.jobs.looks import let_lapse, run


def test_a_gate_that_came_for_it_waits_for_nobody_and_what_runs_goes_on(queue, session, own_database):
    rules(queue, trip=1)
    enqueue(queue)
    [running] = take(session, queue)
    with own_database.connect() as older:
        older.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM queues_gate")
        end(session, queue, FAIL)
        assert look() == [queue.pk]
        assert gate(queue).opens_after is None
        try_once(session, queue, "success")
    assert gate(queue) is None
    assert len(finish(session, running)) == 1


def test_one_job_tries_and_the_others_wait_for_it(queue, session):
    rules(queue, trip=1)
    end(session, queue, FAIL)
    look()
    enqueue(queue), enqueue(queue)
    cool(queue)
    assert len(gates(queues=[queue.pk], types=list(OFFERS), session_id=None)) == 1
    [probe] = admitted(session, queue)
    assert (state(queue), gate(queue).probe_job) == ("half_open", probe.job_id)
    assert admitted(session, queue) == gates(queues=[queue.pk], types=list(OFFERS), session_id=None) == []
    look()
    assert state(queue) == "half_open"
    finish(session, probe)
    look()
    assert gate(queue) is None
    assert len(take(session, queue)) == 1


def test_a_probe_that_fails_opens_it_for_longer_each_time_and_a_success_forgets_that(queue, session):
    rules(queue, trip=1, cooldown_seconds=600)
    end(session, queue, FAIL)
    look()
    cooldowns = [cooldown(queue)]
    for _ in range(4):
        try_once(session, queue, FAIL)
        cooldowns.append(cooldown(queue))
    assert cooldowns == [600, 1200, 2400, 3600, 3600]
    assert gate(queue).trips == 5
    try_once(session, queue, "success")
    end(session, queue, FAIL)
    look()
    assert (cooldown(queue), gate(queue).trips) == (600, 1)


def test_a_cooldown_that_is_longer_than_the_longest_stays_as_it_is(queue, session):
    rules(queue, trip=1, cooldown_seconds=86_400)
    end(session, queue, FAIL)
    look()
    try_once(session, queue, FAIL)
    assert cooldown(queue) == 86_400


@pytest.mark.parametrize("outcome", ["snoozed", "released", "cancelled", "lost"])
def test_a_probe_that_says_nothing_makes_room_for_the_next(queue, session, outcome):
    rules(queue, trip=1)
    end(session, queue, FAIL)
    look()
    try_once(session, queue, outcome)
    assert (state(queue), gate(queue).probe_job, gate(queue).trips) == ("half_open", None, 1)
    enqueue(queue)
    [probe] = admitted(session, queue, limit=1)
    finish(session, probe)
    look()
    assert gate(queue) is None


def test_a_probe_whose_worker_is_lost_does_not_block(queue, session):
    rules(queue, trip=1)
    end(session, queue, FAIL)
    look()
    let_try(session, queue)
    let_lapse(session)
    look()
    assert gate(queue).probe_job is not None  # nobody has said so yet
    reap()
    look()
    assert (state(queue), gate(queue).probe_job) == ("half_open", None)


def test_a_probe_of_which_nothing_is_left_does_not_block(queue, session):
    rules(queue, trip=1)
    end(session, queue, FAIL)
    look()
    probe = let_try(session, queue)
    finish(session, probe)
    run("DELETE FROM jobs_attempt WHERE job_id = %s", [probe.job_id])
    run("DELETE FROM jobs_job WHERE id = %s", [probe.job_id])
    look()
    assert gate(queue).probe_job is None
