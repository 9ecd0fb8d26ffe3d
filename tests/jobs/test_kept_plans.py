"""Statements that are prepared keep their plans: one that was made while nothing waited must do when much does."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from apps.jobs import services
from apps.jobs.engine.claim import Claimed, claim_on
from apps.jobs.engine.claim_aimed import claim_aimed_on
from apps.jobs.engine.claim_gated import claim_gated_on
from apps.jobs.engine.claim_in_turn import claim_in_turn
from apps.jobs.engine.claim_roomy import claim_roomy_on
from apps.jobs.engine.report import Ended, report
from apps.runtime.services.remote.report import settle
from apps.sql import KEPT_PLANS, Line, open_async, run_alone
from tests.acts import OFFERS, enqueue
from tests.factories import SessionFactory
from tests.races.test_gates import limit

pytestmark = pytest.mark.usefixtures("own_database")

KEPT = 8  # psycopg prepares at the fifth, PostgreSQL keeps the plan of the sixth
MANY = 2000


@pytest.fixture
def worker() -> Iterator[Callable[[Callable[[Line], Any]], Any]]:
    """A worker's connection, kept through the whole test."""
    with asyncio.Runner() as runner:
        line = runner.run(open_async("claims"))

        async def called(call: Callable[[Line], Any]) -> Any:
            return await call(line)

        yield lambda call: runner.run(called(call))
        runner.run(line.close())


def live_rows_read() -> int:
    """How many rows of the live jobs were ever read by reading all of them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'jobs_job_live'")
        return int(cursor.fetchone()[0])


def ended(session, got: Claimed) -> list[Ended]:
    return [Ended(job_id=one.job_id, fence=one.fence, session_id=session.pk, outcome="success") for one in got.jobs]


def lives(queue, session, turn: Callable[[], Claimed]) -> Claimed:
    """Little to do, nothing at all, little to do, and then a lot: the last turn."""
    for _ in range(2):
        for _ in range(KEPT):
            enqueue(queue)
            assert len(turn().jobs) == 1
        run_alone("VACUUM (ANALYZE)", lock_timeout="0")
    for _ in range(KEPT):
        enqueue(queue)
        assert len(turn().jobs) == 1
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 1000)
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * (MANY - 1000))
    before = live_rows_read()
    last = turn()
    assert live_rows_read() == before
    return last


async def flushed(line: Line) -> None:
    await line.execute("SELECT pg_stat_force_next_flush()")


@pytest.mark.parametrize("how", ["plain", "aimed", "gated", "roomy"])
def test_a_worker_that_was_idle_reads_no_more_than_it_takes(queue, worker, how):
    session = SessionFactory.create(concurrency=20)
    one_queue = how in ("gated", "roomy")
    if one_queue:
        limit(queue, max_concurrency=500)
    claim: Any = {"plain": claim_on, "aimed": claim_aimed_on, "gated": claim_gated_on, "roomy": claim_roomy_on}[how]
    where: dict[str, Any] = {"queue_id": queue.pk} if one_queue else {"queues": [queue.pk]}

    async def turn(line: Line) -> Claimed:
        got: Claimed = await claim(line, session_id=session.pk, offers=OFFERS, limit=10, **where)
        await report.on(line, ended=ended(session, got))
        await flushed(line)
        return got

    assert len(lives(queue, session, lambda: worker(turn)).jobs) == 10


def test_nor_does_the_door_of_remote_workers(queue):
    """Its claims take care of themselves; its reports come over connections of a pool, which are like this one."""
    with connection.cursor() as cursor:
        cursor.execute(KEPT_PLANS.format(local="FALSE"))
    session = SessionFactory.create(concurrency=20)

    def turn() -> Claimed:
        got = claim_in_turn(session_id=session.pk, queues=[queue.pk], offers=OFFERS, limit=10)
        settle(session=session, ended=ended(session, got), places={})
        return got

    assert len(lives(queue, session, turn).jobs) == 10
