"""Many queues share a worker: nobody's backlog starves another's single job, and weights share out the slots."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from apps.jobs.engine.claim import Claim, Hint, claim_on
from apps.jobs.engine.ready import PROBED
from apps.queues.models import Queue
from apps.runtime.supervisor.turns import AT_ONCE, Turns
from apps.sql import open_async
from tests.acts import enqueue
from tests.factories import ProjectFactory, QueueFactory, SessionFactory
from tests.jobs.looks import run

BACKLOG = """
    INSERT INTO jobs_job_live (id, queue_id, type, payload, run_at, rank, max_attempts, max_losses, max_snoozes, state)
    SELECT gen_random_uuid(), %(queue)s, 'ping', '{}', clock_timestamp() - interval '1 hour',
        (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint - 3600000000 + n, 5, 3, 100, 'queued'
    FROM generate_series(1, %(jobs)s) AS n
"""


def backlog(queue: Queue, jobs: int) -> None:
    """All of them have waited for an hour."""
    run(BACKLOG, {"queue": queue.pk, "jobs": jobs})


def rounds(
    queues: Sequence[UUID], *, claims: int, limit: int, weights: dict[UUID, int] | None = None
) -> list[list[Claim]]:
    """What a worker that serves these queues gets by so many claims."""
    session = SessionFactory.create(concurrency=100_000)

    async def work() -> list[list[Claim]]:
        connection = await open_async()
        try:
            turns = Turns(lambda call: call(connection))
            turns.serve(queues)
            got = []
            for _ in range(claims):
                jobs = (
                    await claim_on(
                        connection, session_id=session.pk, queues=await turns.next(limit), offers={"ping": None},
                        limit=limit, hint=Hint(ahead=turns.ahead()),
                    )
                ).jobs  # fmt: skip
                turns.see([job.queue_id for job in jobs], weights or {})
                got.append(jobs)
            return got
        finally:
            await connection.close()

    return asyncio.run(work())


def claim_of(job_id: UUID, got: list[list[Claim]]) -> int:
    """Which of the claims brought this job, 0 being the first."""
    return next(place for place, jobs in enumerate(got) if job_id in [job.job_id for job in jobs])


@pytest.mark.parametrize(("limit", "jobs"), [(1, 100_000), (2, 5_000), (50, 5_000)])
def test_a_hundred_thousand_jobs_of_one_tenant_delay_anothers_by_no_more_than_a_round(arena, queue, limit, jobs):
    other = QueueFactory.create(project=ProjectFactory.create())
    backlog(queue, jobs)
    single = enqueue(other)
    assert claim_of(single, rounds([queue.pk, other.pk], claims=3, limit=limit)) <= 1


def test_nor_do_the_backlogs_of_many_tenants(arena, queue):
    """A round is a job of each."""
    others = [QueueFactory.create(project=queue.project) for _ in range(9)]
    for one in others:
        backlog(one, 50)
    single = enqueue(queue)
    assert claim_of(single, rounds([queue.pk, *(one.pk for one in others)], claims=12, limit=1)) <= 9


@pytest.mark.parametrize("count", [AT_ONCE + 4, PROBED + 6])
@pytest.mark.parametrize("limit", [3, 50])
def test_among_more_queues_than_one_claim_looks_at_each_has_its_turn_once_a_round(arena, queue, count, limit):
    queues = [QueueFactory.create(project=queue.project) for _ in range(count)]
    for one in queues:
        backlog(one, 20)
    a_round = -(-count // min(limit, AT_ONCE))
    got = rounds([one.pk for one in queues], claims=a_round, limit=limit)
    assert {job.queue_id for jobs in got for job in jobs} == {one.pk for one in queues}


def test_a_worker_takes_nothing_from_queues_that_others_serve(arena, queue):
    queues = [QueueFactory.create(project=queue.project) for _ in range(2 * PROBED + 20)]
    for one in queues:
        enqueue(one)
    ours = [one.pk for one in queues[::2]]
    got = rounds(ours, claims=len(ours) // AT_ONCE + 2, limit=50)
    assert sorted(job.queue_id for jobs in got for job in jobs) == sorted(ours)


@pytest.mark.parametrize("limit", [1, 8, 40])
def test_weights_share_out_the_slots_among_the_queues_that_have_work(arena, queue, limit):
    heavy = QueueFactory.create(project=queue.project, weight=3)
    idle = QueueFactory.create(project=queue.project, weight=100)
    for one in (queue, heavy):
        backlog(one, 200)
    got = rounds([queue.pk, heavy.pk, idle.pk], claims=80 // limit, limit=limit, weights={heavy.pk: 3, idle.pk: 100})
    had = Counter(job.queue_id for jobs in got for job in jobs)
    assert had[heavy.pk] == pytest.approx(60, abs=3)
    assert had[queue.pk] == pytest.approx(20, abs=3)


def test_who_was_away_is_next_but_has_no_claim_to_what_it_did_not_use():
    busy, away = uuid7(), uuid7()
    turns = Turns(lambda call: call(None))
    turns.see([busy] * 100, {})
    assert turns.ahead() == {busy: 1}  # the one that was away is next …
    turns.see([away], {})
    assert turns.ahead() == {busy: 1, away: 1}  # … and has had its turn then
