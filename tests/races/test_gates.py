"""Limits under a crowd: whoever claims, ends, opens or deals at the same time, a cap is never passed."""

import pytest
from django.db import DataError, transaction

from apps.audit.record import SYSTEM
from apps.errors import InUse
from apps.jobs import services
from apps.jobs.engine.claim import Claim, claim
from apps.jobs.engine.claim_gated import claim_gated
from apps.jobs.engine.claim_roomy import claim_roomy
from apps.jobs.engine.open_gates import open_gates
from apps.jobs.engine.reconcile import reconcile
from apps.jobs.engine.report import Ended, report
from apps.jobs.models import Job
from apps.queues.models import Gate
from apps.queues.services import queues
from tests.factories import SessionFactory
from tests.jobs.looks import run
from tests.processes import until
from tests.races.stage import meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")
OFFERS: dict[str, int | None] = {"ping": None}
SEVERAL = {"pong": None, **OFFERS}


def limit(queue, **fields):
    queues.update(queue=queue, actor=SYSTEM, **fields)
    run("UPDATE queues_gate SET opens_after = 1 WHERE opens_after IS NOT NULL")
    open_gates()


def admitted(session, queue, *, limit=10):
    return claim_gated(session_id=session.pk, queue_id=queue.pk, offers=OFFERS, limit=limit).jobs


def admitted_after(session, queue, *, limit=10, offers=OFFERS):
    """Found first and charged then, as where a gate is roomy (claim_roomy)."""
    try:
        return claim_roomy(session_id=session.pk, queue_id=queue.pk, offers=offers, limit=limit).jobs
    except DataError:  # no place left
        return []


def admitted_of_several(session, queue, *, limit=10):
    """The same where more than one type may wait."""
    return admitted_after(session, queue, limit=limit, offers=SEVERAL)


either_way = pytest.mark.parametrize("admitted", [admitted, admitted_after, admitted_of_several])


def running(queue):
    return Job.objects.filter(queue=queue, state="running").count()


def in_flight(queue):
    return sum(Gate.objects.filter(queue=queue).values_list("in_flight", flat=True))


@pytest.mark.parametrize(("admitted", "rounds"), [(admitted, 3), (admitted_after, 8), (admitted_of_several, 8)])
@pytest.mark.parametrize("shards", [1, 4])
def test_a_crowd_of_claimers_fills_a_cap_and_does_not_pass_it(queue, shards, admitted, rounds):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 100)
    limit(queue, max_concurrency=10, shards=shards)
    sessions = SessionFactory.create_batch(8, concurrency=100)
    for _round in range(rounds):
        together(*[lambda one=one: admitted(one, queue, limit=2) for one in sessions])
        assert running(queue) == in_flight(queue) <= 10
    assert running(queue) == 10


def test_a_claim_that_waits_for_the_gate_sees_what_was_charged_meanwhile(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 10)
    limit(queue, max_concurrency=4)
    one, other = SessionFactory.create_batch(2, concurrency=100)
    with meanwhile(lambda: admitted(other, queue)) as second:
        assert len(admitted(one, queue, limit=3)) == 3
    assert len(second.result()) == 1


@either_way
def test_ends_and_claims_that_cross_leave_the_count_right(queue, admitted):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 60)
    limit(queue, max_concurrency=6, shards=2)
    sessions = SessionFactory.create_batch(4, concurrency=100)
    ended: list[Claim] = []

    def turn(session):
        for _ in range(6):
            taken = admitted(session, queue, limit=2)
            ended.extend(taken)
            report(
                ended=[
                    Ended(job_id=job.job_id, fence=job.fence, session_id=session.pk, outcome="success") for job in taken
                ]
            )

    together(*[lambda one=one: turn(one) for one in sessions])
    assert running(queue) == in_flight(queue) == 0
    assert 0 < len(ended) == Job.objects.filter(queue=queue, state="completed").count()


def test_a_cap_that_is_set_while_a_claim_is_on_its_way_counts_what_that_one_takes(queue):
    """The claim saw no gate; the gate opens when it has committed, and counts its jobs."""
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 10)
    session = SessionFactory.create(concurrency=100)
    with transaction.atomic():
        assert len(claim(session_id=session.pk, queues=[queue.pk], offers=OFFERS, limit=3).jobs) == 3
        together(lambda: queues.update(queue=queue, actor=SYSTEM, max_concurrency=4))
        assert together(open_gates) == [None]
    until(lambda: open_gates() == (queue.pk, True))
    assert len(admitted(session, queue)) == 1
    assert running(queue) == in_flight(queue) == 4


def test_reconcile_that_meets_a_report_waits_and_counts_what_is_left(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 4)
    limit(queue, max_concurrency=4)
    session = SessionFactory.create(concurrency=100)
    first, *_ = admitted(session, queue)
    ended = [Ended(job_id=first.job_id, fence=first.fence, session_id=session.pk, outcome="success")]
    with meanwhile(reconcile) as looking:
        report(ended=ended)
    assert looking.result() == (queue.pk, [])
    assert running(queue) == in_flight(queue) == 3


@either_way
def test_shards_and_a_claim_at_once_never_admit_an_eleventh(queue, admitted):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 40)
    limit(queue, max_concurrency=10)
    sessions = SessionFactory.create_batch(4, concurrency=100)

    def deal():
        try:
            queues.update(queue=queue, actor=SYSTEM, shards=8)
        except InUse:
            return

    together(deal, *[lambda one=one: admitted(one, queue, limit=4) for one in sessions])
    for session in sessions * 8:
        admitted(session, queue)
    assert running(queue) == in_flight(queue) == 10
