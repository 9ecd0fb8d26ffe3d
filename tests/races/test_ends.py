"""Whoever races for the end of a job: one of them ends it, and the others are told the truth."""

import asyncio
from collections import Counter

import pytest
from django.db import transaction

from apps.errors import IllegalMove
from apps.jobs import services
from apps.jobs.engine.heartbeat import heartbeat
from apps.jobs.engine.report import Ended, report, report_on
from apps.sql import open_async
from apps.workers.engine.register import register
from apps.workers.models import Session
from tests.acts import enqueue, finish, take, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, fail_for_good, ledger, let_lapse, look, reap_all, reason, state, told
from tests.races.stage import aside, meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def cancel(job_id, **how):
    return services.cancel(job_id=job_id, actor=ANN, **how)


def beat(session):
    return heartbeat(session_id=session.pk, held={})


@pytest.mark.parametrize("force", [False, True])
def test_a_cancel_that_meets_the_end_is_told_that_it_came_too_late(queue, session, force):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    with meanwhile(lambda: cancel(job_id, force=force)) as cancelled:
        finish(session, taken, result="1")
    assert isinstance(cancelled.exception(), IllegalMove)
    assert "completed" in str(cancelled.exception())
    assert (state(job_id), look(job_id).result) == ("completed", 1)


def test_an_end_that_meets_a_cancel_request_is_a_cancelled_one(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken)) as finished:
        assert cancel(job_id).cancelling
    assert [done.state for done in finished.result()] == ["cancelled"]
    assert (state(job_id), reason(job_id)) == ("cancelled", "cancelled")


def test_an_end_that_meets_a_cancel_by_force_is_fenced(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken)) as finished:
        cancel(job_id, force=True)
    assert finished.result() == []
    assert [entry.outcome for entry in ledger(job_id)] == ["cancelled"]


def test_a_retry_that_meets_a_cancel_request_never_happens(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken, outcome="retryable_error")) as finished:
        cancel(job_id)
    assert [done.state for done in finished.result()] == ["cancelled"]


def test_a_reaper_that_meets_a_report_takes_nothing(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    let_lapse(session)
    with transaction.atomic():
        finish(session, taken)
        assert aside(reap_all) == []
    assert [entry.outcome for entry in ledger(job_id)] == ["success"]


def test_a_report_that_meets_the_reaper_is_fenced(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    let_lapse(session)
    with meanwhile(lambda: finish(session, taken)) as finished:
        assert len(reap_all()) == 1
    assert finished.result() == []
    assert [entry.outcome for entry in ledger(job_id)] == ["lost"]


def test_two_reapers_take_each_job_once(queue):
    session = SessionFactory.create(concurrency=100)
    made = services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 100).jobs
    take(session, queue, limit=100)
    let_lapse(session)
    swept = [done.job_id for part in together(reap_all, reap_all) for done in part]
    assert Counter(swept) == Counter(one.job_id for one in made)
    assert {look(job_id).losses for job_id in swept} == {1}


def test_a_reaper_that_meets_a_heartbeat_reads_the_lease_again(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    Session.objects.update(lease_seconds=1)
    with meanwhile(reap_all) as swept:
        assert beat(session).alive
        Session.objects.update(lease_seconds=0.01)  # the sweep must not be spared by its server's age
    assert swept.result() == []
    assert state(job_id) == "running"


def test_a_heartbeat_that_meets_the_reaper_hears_that_it_is_over(queue, session):
    enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    with meanwhile(lambda: beat(session)) as answer:
        assert len(reap_all()) == 1
    assert not answer.result().alive


def test_a_claim_that_commits_after_its_session_was_fenced_is_found_at_the_next_sweep(queue):
    first = register(uid="box", concurrency=1, lease_seconds=30, hostname="box", pid=1).session_id
    job_id = enqueue(queue)
    session = Session.objects.get(pk=first)
    with transaction.atomic():
        taken = take_one(session, queue)
        assert aside(lambda: register(uid="box", concurrency=1, lease_seconds=30, hostname="box", pid=2)).fenced == 1
        assert aside(reap_all) == []
    assert state(job_id) == "running"
    assert [(done.job_id, done.outcome) for done in reap_all()] == [(job_id, "lost")]
    assert finish(session, taken) == []


def test_of_boots_of_one_name_at_once_exactly_one_lives():
    boots = [
        lambda pid=pid: register(uid="box", concurrency=1, lease_seconds=30, hostname="box", pid=pid)
        for pid in range(6)
    ]
    together(*boots)
    assert Session.objects.filter(fenced_at=None).count() == 1
    assert Session.objects.count() == 6


def test_two_reports_of_the_same_hundred_jobs_end_each_once_and_never_deadlock(queue):
    session = SessionFactory.create(concurrency=100)
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 100)
    taken = take(session, queue, limit=100)
    done = together(
        lambda: finish(session, *taken),
        lambda: finish(session, *reversed(taken), outcome="permanent_error"),
    )
    assert Counter(one.job_id for part in done for one in part) == Counter(one.job_id for one in taken)
    assert len(told("job.completed")) + len(told("job.dead_letter")) >= 1


def test_a_batch_takes_its_jobs_in_their_order_not_in_its_own(queue, session):
    for _ in range(2):
        enqueue(queue)
    first, second = sorted(take(session, queue), key=lambda taken: taken.job_id)
    with meanwhile(lambda: finish(session, second, first)) as finished:
        cancel(first.job_id, force=True)
        finished.meet()
        cancel(second.job_id, force=True)
    assert finished.result() == []


def test_two_replays_of_one_dead_letter_are_one_run(queue, session):
    job_id = enqueue(queue)
    fail_for_good(session, queue, job_id)
    with meanwhile(lambda: services.replay(job_id=job_id, actor=ANN)) as second:
        services.replay(job_id=job_id, actor=ANN)
    assert isinstance(second.exception(), IllegalMove)
    assert (state(job_id), look(job_id).generation) == ("queued", 2)
    assert len(take(session, queue)) == 1


def test_a_discard_that_meets_a_replay_comes_too_late(queue, session):
    job_id = enqueue(queue)
    fail_for_good(session, queue, job_id)
    with meanwhile(lambda: services.discard(job_id=job_id, actor=ANN)) as discarded:
        services.replay(job_id=job_id, actor=ANN)
    assert isinstance(discarded.exception(), IllegalMove)
    assert state(job_id) == "queued"


def test_a_workers_batch_waits_for_a_child_that_is_arriving_and_wakes_it(queue, session):
    plain, parent = enqueue(queue), enqueue(queue)
    taken = take(session, queue)
    ended = [Ended(job_id=one.job_id, fence=one.fence, session_id=session.pk, outcome="success") for one in taken]

    async def from_a_worker():
        async with await open_async() as connection:
            return await report_on(connection, ended)

    with meanwhile(lambda: asyncio.run(from_a_worker())) as reported:
        child = enqueue(queue, depends_on=[parent])
    assert {done.job_id for done in reported.result()} == {plain, parent}
    assert not any(done.deferred for done in reported.result())
    assert (state(plain), state(parent), state(child)) == ("completed", "completed", "queued")
    assert report(ended=ended) == []
