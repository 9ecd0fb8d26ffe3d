"""Whoever races for a job: it is handed out once, under one fence."""

from collections import Counter

import pytest
from django.db import transaction

from apps.errors import IllegalMove
from apps.jobs import services
from apps.jobs.engine.claim import claim
from apps.jobs.engine.promote import promote
from apps.jobs.engine.purge import purge
from tests.acts import enqueue, finish, make_due, take, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, ledger, look, reason, state, told
from tests.races.stage import aside, meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def ask(session, queue, limit=10):
    return claim(session_id=session.pk, queues=[queue.pk], offers={"ping": None}, limit=limit)


def drain(session, queue):
    """Claim until there is nothing left, not even what others are taking."""
    taken = []
    while True:
        got = ask(session, queue)
        taken += got.jobs
        if not got.jobs and not got.contended:
            return taken


def test_four_claimers_share_two_hundred_jobs_and_none_is_handed_out_twice(queue):
    made = services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 200).jobs
    sessions = SessionFactory.create_batch(4, concurrency=200)
    taken = [one for part in together(*(lambda s=s: drain(s, queue) for s in sessions)) for one in part]
    assert Counter(one.job_id for one in taken) == Counter(one.job_id for one in made)
    assert len({one.fence for one in taken}) > 1
    assert {look(one.job_id).fence for one in taken} == {one.fence for one in taken}
    assert Counter(look(one.job_id).attempt for one in taken) == {1: 200}


def test_a_claim_that_is_not_committed_hands_nothing_to_others_and_holds_nobody_up(queue, session):
    job_id = enqueue(queue)
    other = SessionFactory.create()
    with transaction.atomic():
        taken = take_one(session, queue)
        beside = aside(lambda: ask(other, queue))
    assert beside.jobs == []
    assert beside.contended
    finish(session, taken)
    assert len(ledger(job_id)) == 1


def test_a_cancel_that_meets_a_claim_asks_what_was_claimed_to_stop(queue, session):
    job_id = enqueue(queue)
    with meanwhile(lambda: services.cancel(job_id=job_id, actor=ANN)) as cancelled:
        taken = take_one(session, queue)
    assert cancelled.result().cancelling
    finish(session, taken)
    assert (state(job_id), reason(job_id)) == ("cancelled", "cancelled")


def test_a_claim_that_meets_a_cancel_finds_nothing(queue, session):
    job_id = enqueue(queue)
    with transaction.atomic():
        services.cancel(job_id=job_id, actor=ANN)
        assert aside(lambda: take(session, queue)) == []
    assert take(session, queue) == []
    assert (state(job_id), look(job_id).attempt) == ("cancelled", 0)


def test_among_a_hundred_cancels_and_claims_every_answer_is_true(queue):
    session = SessionFactory.create(concurrency=100)
    made = [one.job_id for one in services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 100).jobs]

    def cancel_all():
        return {job_id: services.cancel(job_id=job_id, actor=ANN) for job_id in reversed(made)}

    answers, taken = together(cancel_all, lambda: drain(session, queue))
    claimed = {one.job_id for one in taken}
    assert {job_id for job_id, answer in answers.items() if answer.cancelling} == claimed
    for job_id in made:
        job = look(job_id)
        assert (job.state, job.attempt) == (("running", 1) if job_id in claimed else ("cancelled", 0))


def test_a_purge_passes_by_what_is_being_claimed(queue, session):
    jobs = [enqueue(queue) for _ in range(6)]
    with transaction.atomic():
        taken = take(session, queue, limit=2)
        assert aside(lambda: purge(queue_id=queue.pk)) == 4
    assert {state(one.job_id) for one in taken} == {"running"}
    assert [state(job_id) for job_id in jobs].count("cancelled") == 4


def test_a_claim_passes_by_what_is_being_purged(queue, session):
    jobs = [enqueue(queue) for _ in range(6)]
    with transaction.atomic():
        purge(queue_id=queue.pk, limit=4)
        assert [one.job_id for one in aside(lambda: take(session, queue))] == jobs[4:]
    assert [state(job_id) for job_id in jobs].count("cancelled") == 4


def test_two_promoters_promote_each_job_once(queue):
    made = services.submit_batch(queue=queue, jobs=[{"type": "ping", "delay_seconds": 60}] * 200).jobs
    make_due(*(one.job_id for one in made))

    def promote_all():
        count = 0
        while done := promote(limit=20):
            count += sum(one.jobs for one in done)
        return count

    assert sum(together(promote_all, promote_all)) == 200
    promoted = Counter(job_id for fact in told("job.promoted") for job_id in fact.job_ids)
    assert promoted == Counter(one.job_id for one in made)


def test_a_promoter_passes_by_what_somebody_else_is_taking(queue):
    first, second = enqueue(queue, delay_ms=60_000), enqueue(queue, delay_ms=60_000)
    make_due(first, second)
    with transaction.atomic():
        services.cancel(job_id=first, actor=ANN)
        assert [one.jobs for one in aside(lambda: promote(limit=10))] == [1]
    assert (state(first), state(second)) == ("cancelled", "queued")


def test_a_cancel_that_meets_a_promotion_waits_and_cancels(queue):
    job_id = enqueue(queue, delay_ms=60_000)
    make_due(job_id)
    with meanwhile(lambda: services.cancel(job_id=job_id, actor=ANN)) as cancelled:
        promote(limit=10)
    assert cancelled.result().state == "cancelled" == state(job_id)


def test_a_retry_that_meets_a_promotion_is_told_the_truth(queue):
    job_id = enqueue(queue, delay_ms=60_000)
    make_due(job_id)
    with meanwhile(lambda: services.retry_now(job_id=job_id, actor=ANN)) as retried:
        promote(limit=10)
    assert isinstance(retried.exception(), IllegalMove)
    assert state(job_id) == "queued"
