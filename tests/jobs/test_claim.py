"""A claim: whom it hands what, in which order, under which fence, and to whom it hands nothing."""

import json
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from apps.jobs import services
from apps.jobs.engine.claim import Claimed, claim
from apps.jobs.engine.ready import ready, ready_among
from tests.acts import enqueue, finish, take, take_one
from tests.factories import QueueFactory, SessionFactory
from tests.jobs.looks import ANN, look, run, state, told


def ask(session, *queues, limit=10, offers=("ping",)) -> Claimed:
    return claim(
        session_id=session.pk, queues=[queue.pk for queue in queues], offers=dict.fromkeys(offers), limit=limit
    )


def ids(claimed: Claimed):
    return {one.job_id for one in claimed.jobs}


def test_a_claim_says_what_to_run(queue, session):
    job_id = enqueue(queue, payload='{"path": "a.png"}', max_attempts=7)
    taken = take_one(session, queue)
    assert (taken.job_id, taken.queue_id, taken.type) == (job_id, queue.id, "ping")
    assert json.loads(taken.payload) == {"path": "a.png"}
    assert (taken.attempt, taken.max_attempts, taken.generation) == (1, 7, 1)


def test_a_claimed_job_runs_under_the_fence_that_was_told(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    job = look(job_id)
    assert (job.state, job.session_id, job.attempt) == ("running", session.id, 1)
    assert job.fence == taken.fence > 0
    assert job.deadline_at == taken.deadline_at
    assert job.started_at is not None


def test_it_is_told_once_for_all_jobs_of_a_queue(queue, session):
    other = QueueFactory.create(project=queue.project)
    mine, his = [enqueue(queue) for _ in range(3)], [enqueue(other) for _ in range(2)]
    ask(session, queue, other)
    facts = {fact.queue_id: (set(fact.job_ids), fact.attempts, fact.state) for fact in told("job.started")}
    assert facts == {
        queue.id: (set(mine), [1, 1, 1], "running"),
        other.id: (set(his), [1, 1], "running"),
    }


def test_nothing_is_handed_out_twice(queue, session):
    jobs = {enqueue(queue) for _ in range(6)}
    first, second = ask(session, queue, limit=4), ask(session, queue, limit=4)
    assert (len(first.jobs), len(second.jobs)) == (4, 2)
    assert ids(first) | ids(second) == jobs


def test_the_most_urgent_are_taken_whatever_lane_they_stand_in(queue, session):
    low, middle, high = (
        enqueue(queue, type=type, priority=priority) for type, priority in (("ping", 1), ("pong", 2), ("ping", 3))
    )
    assert ids(ask(session, queue, limit=2, offers=["ping", "pong"])) == {high, middle}
    assert ids(ask(session, queue, limit=2, offers=["ping", "pong"])) == {low}


def test_a_session_gets_only_types_it_has_handlers_for(queue, session):
    ping, pong = enqueue(queue, type="ping"), enqueue(queue, type="pong", priority=9)
    assert ids(ask(session, queue, offers=["ping", "peng"])) == {ping}
    assert ids(ask(session, queue, offers=["peng"])) == set()
    assert state(pong) == "queued"


def test_a_hundred_jobs_nobody_here_can_run_do_not_hide_one_that_can_be(queue, session):
    for _ in range(100):
        enqueue(queue, type="pong", priority=9)
    mine = enqueue(queue, type="ping")
    assert ids(ask(session, queue, limit=1)) == {mine}


def test_a_session_gets_only_from_the_queues_it_asks(queue, session):
    other = QueueFactory.create(project=queue.project)
    enqueue(other)
    assert ask(session, queue).jobs == []
    assert ask(session).jobs == []


def test_queues_take_turns_whatever_their_backlog(queue, session):
    small = QueueFactory.create(project=queue.project)
    for _ in range(30):
        enqueue(queue, priority=1000)
    one = enqueue(small, priority=-1000)
    taken = ask(session, queue, small, limit=4)
    assert one in ids(taken)
    assert len(taken.jobs) == 4


def test_two_backlogs_share_the_slots(queue, session):
    other = QueueFactory.create(project=queue.project)
    mine, his = {enqueue(queue) for _ in range(8)}, {enqueue(other, priority=5) for _ in range(8)}
    taken = ids(ask(session, queue, other, limit=6))
    assert (len(taken & mine), len(taken & his)) == (3, 3)


@pytest.mark.parametrize("state", ["scheduled", "blocked", "awaiting_approval"])
def test_a_job_that_waits_for_something_is_not_claimed(queue, session, state):
    parent = enqueue(queue, type="pong")
    waits: dict[str, dict[str, Any]] = {
        "scheduled": {"delay_ms": 60_000},
        "blocked": {"depends_on": [parent]},
        "awaiting_approval": {"requires_approval": True},
    }
    job_id = enqueue(queue, **waits[state])
    assert look(job_id).state == state
    assert take(session, queue) == []


def test_a_job_whose_key_is_full_stays_out_of_the_lanes(queue, session):
    job_id = enqueue(queue)
    run("UPDATE jobs_job_live SET key_full = TRUE")
    assert take(session, queue) == []
    run("UPDATE jobs_job_live SET key_full = FALSE")
    assert take_one(session, queue).job_id == job_id


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(queue, session):
    enqueue(queue)
    queue.paused_at = timezone.now()
    queue.save()
    assert ask(session, queue) == Claimed(jobs=[], candidates=0)
    queue.paused_at = None
    queue.save()
    assert len(ask(session, queue).jobs) == 1


def test_a_pause_ends_by_itself_when_its_time_has_passed(queue, session):
    enqueue(queue)
    queue.paused_at = timezone.now() - timedelta(hours=2)
    queue.paused_until = timezone.now() + timedelta(hours=1)
    queue.save()
    assert ask(session, queue).jobs == []
    queue.paused_until = timezone.now() - timedelta(seconds=1)
    queue.save()
    assert len(ask(session, queue).jobs) == 1


GONE: dict[str, dict[str, Any]] = {
    "draining": {"draining": True},
    "lapsed": {"lease_expires_at": timezone.now() - timedelta(seconds=1)},
    "fenced": {"fenced_at": timezone.now()},
    "ended": {"ended_at": timezone.now()},
}


@pytest.mark.parametrize("how", GONE)
def test_a_session_that_is_no_more_gets_nothing_and_is_not_told_to_try_again(queue, how):
    job_id = enqueue(queue)
    claimed = ask(SessionFactory.create(**GONE[how]), queue)
    assert claimed.jobs == []
    assert not claimed.contended
    assert look(job_id).attempt == 0


def test_a_session_nobody_knows_gets_nothing(queue):
    enqueue(queue)
    claimed = claim(session_id=uuid7(), queues=[queue.pk], offers={"ping": None}, limit=1)
    assert claimed.jobs == []
    assert not claimed.contended


def test_a_session_never_runs_more_than_its_concurrency(queue):
    session = SessionFactory.create(concurrency=3)
    for _ in range(6):
        enqueue(queue)
    first = ask(session, queue, limit=100)
    assert len(first.jobs) == 3
    full = ask(session, queue, limit=100)
    assert full.jobs == []
    assert not full.contended  # it is full: trying again at once would be a hot loop
    finish(session, first.jobs[0])
    assert len(ask(session, queue, limit=100).jobs) == 1


def test_a_concurrency_that_was_lowered_below_what_runs_grants_nothing(queue, session):
    for _ in range(4):
        enqueue(queue)
    ask(session, queue, limit=3)
    session.concurrency = 1
    session.save()
    assert ask(session, queue).jobs == []


def test_what_others_run_takes_no_slots(queue, session):
    for _ in range(20):
        enqueue(queue)
    assert len(ask(SessionFactory.create(concurrency=10), queue).jobs) == 10
    assert len(ask(session, queue).jobs) == 10


def test_an_empty_queue_is_empty_not_contended(queue, session):
    claimed = ask(session, queue)
    assert claimed == Claimed(jobs=[], candidates=0)
    assert not claimed.contended


def test_jobs_that_somebody_else_is_taking_make_it_contended_and_hold_nobody_up(arena, queue, session):
    job_id = enqueue(queue)
    with arena.connect() as other:
        other.execute("SELECT id FROM jobs_job_live WHERE id = %s FOR NO KEY UPDATE", [job_id])
        claimed = ask(session, queue)
    assert claimed.contended
    assert take_one(session, queue).job_id == job_id


def test_a_few_that_somebody_else_is_taking_are_stepped_over(arena, queue, session):
    first, second = enqueue(queue), enqueue(queue)
    with arena.connect() as other:
        other.execute("SELECT id FROM jobs_job_live WHERE id = %s FOR NO KEY UPDATE", [first])
        assert ids(ask(session, queue, limit=1)) == {second}


@pytest.mark.parametrize(
    ("own", "handlers", "expected"), [(1000, 2000, 1), (None, 2000, 2), (None, None, 300), (2500, None, 2.5)]
)
def test_the_time_limit_is_the_jobs_own_else_the_handlers_else_the_queues(queue, session, own, handlers, expected):
    enqueue(queue, timeout_ms=own)
    [taken] = take(session, queue, offers={"ping": handlers})
    job = look(taken.job_id)
    assert (job.deadline_at - job.started_at).total_seconds() == pytest.approx(expected, abs=0.1)
    assert taken.limit_seconds == pytest.approx(expected, abs=0.5)


def test_a_cancelled_job_is_not_claimed(queue, session):
    services.cancel(job_id=enqueue(queue), actor=ANN)
    assert take(session, queue) == []


def test_the_queues_that_have_work_are_found_from_a_cursor_on(queue):
    queues = sorted([queue.pk, *(QueueFactory.create(project=queue.project).pk for _ in range(4))])
    busy = [queues[1], queues[3]]
    for pk in busy:
        enqueue(QueueFactory._meta.model(pk=pk))
    for walk in (ready, partial(ready_among, queues=queues)):
        assert walk(after=queues[0], limit=10) == busy
        assert walk(after=queues[1], limit=10) == busy[1:]
        assert walk(after=queues[0], limit=1) == busy[:1]
        assert walk(after=queues[3], limit=10) == []
    assert ready_among(after=queues[0], queues=[queues[0], queues[3]], limit=10) == busy[1:]
