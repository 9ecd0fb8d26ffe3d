"""The same verbs on a worker's asynchronous connection: same rows, same types, one commit where one will do."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from apps.jobs.engine.claim import claim_on
from apps.jobs.engine.heartbeat import Told, heartbeat
from apps.jobs.engine.promote import next_due, promote
from apps.jobs.engine.reap import reap
from apps.jobs.engine.report import Ended, report_missing, report_on
from apps.jobs.models import Progress
from apps.sql import open_async
from apps.workers.engine.register import register
from apps.workers.models import Session
from tests.acts import enqueue, make_due, take, take_one
from tests.jobs.looks import let_lapse, look, run, state, told

pytestmark = pytest.mark.usefixtures("arena")


def on_its_own[T](call: Callable[[Any], Awaitable[T]]) -> T:
    """Call with a connection such as a worker has."""

    async def go() -> T:
        async with await open_async() as connection:
            return await call(connection)

    return asyncio.run(go())


def ends(session, taken, outcome="success", **fields) -> Ended:
    return Ended(job_id=taken.job_id, fence=taken.fence, session_id=session.pk, outcome=outcome, **fields)


def test_a_claim_is_the_same_either_way(queue, session):
    for _ in range(2):
        enqueue(queue, payload='{"id": 18446744073709551617}', unique_key=None)
    claimed = on_its_own(
        lambda connection: claim_on(
            connection, session_id=session.pk, queues=[queue.pk], offers={"ping": 5000}, limit=1
        )
    )
    [one], [other] = claimed.jobs, take(session, queue)
    assert [type(value) for value in one] == [type(value) for value in other]
    assert one.payload == other.payload
    assert look(one.job_id).fence == one.fence


def test_a_life_on_a_workers_connection(queue):
    job_id = enqueue(queue, delay_ms=60_000)
    make_due(job_id)

    async def live(connection):
        session = await register.on(connection, uid="box", concurrency=4, lease_seconds=30, hostname="box", pid=1)
        assert (await next_due.on(connection))[0] < 0
        assert [one.jobs for one in await promote.on(connection, limit=10)] == [1]
        claimed = await claim_on(
            connection, session_id=session.session_id, queues=[queue.pk], offers={"ping": None}, limit=5
        )
        [one] = claimed.jobs
        beat = await heartbeat.on(
            connection,
            session_id=session.session_id,
            held={one.job_id: one.fence},
            told=[Told(job_id=one.job_id, done=1, total=2)],
            sample='{"cpu": 1}',
        )
        assert beat.alive
        assert not beat.lost
        ended = Ended(job_id=one.job_id, fence=one.fence, session_id=session.session_id, outcome="success", result="7")
        return await report_on(connection, [ended]), await report_missing.on(
            connection, ended=[ended], session_id=session.session_id
        )

    [done], [again] = on_its_own(live)
    assert (done.state, again.applied) == ("completed", True)
    assert look(job_id).result == 7
    assert Progress.objects.get(job_id=job_id).total == 2


def test_a_batch_without_dependents_is_one_transaction(queue, session):
    for _ in range(3):
        enqueue(queue)
    taken = take(session, queue)
    on_its_own(lambda connection: report_on(connection, [ends(session, one) for one in taken]))
    assert len(run("SELECT DISTINCT xmin::text FROM jobs_job WHERE state = 'completed'")) == 1
    assert len(told("job.completed")) == 1


def test_a_parent_is_left_for_a_transaction_of_its_own_and_its_child_wakes_in_it(queue, session):
    plain, parent = enqueue(queue), enqueue(queue)
    child = enqueue(queue, type="pong", depends_on=[parent])
    taken = take(session, queue)
    done = on_its_own(lambda connection: report_on(connection, [ends(session, one) for one in taken]))
    assert sorted(one.job_id for one in done) == sorted([plain, parent])
    assert not any(one.deferred for one in done)
    assert [state(job_id) for job_id in (plain, parent, child)] == ["completed", "completed", "queued"]
    [[together]] = run(
        "SELECT parent.xmin = child.xmin FROM jobs_job parent, jobs_job child WHERE parent.id = %s AND child.id = %s",
        [parent, child],
    )
    assert together


def test_a_parent_that_goes_on_is_not_left(queue, session):
    parent = enqueue(queue)
    enqueue(queue, type="pong", depends_on=[parent])
    taken = take_one(session, queue)
    [done] = on_its_own(lambda connection: report_on(connection, [ends(session, taken, "retryable_error")]))
    assert (done.deferred, done.state) == (False, "retry_wait")


def test_the_reaper_works_there_too(queue, session):
    parent = enqueue(queue, max_attempts=1)
    child = enqueue(queue, type="pong", depends_on=[parent])
    take_one(session, queue)
    let_lapse(session)
    [done] = on_its_own(lambda connection: reap.on(connection))
    assert (done.outcome, done.state, state(child)) == ("lost", "dead_letter", "cancelled")
    assert Session.objects.get().fenced_at is not None
