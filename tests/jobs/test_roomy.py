"""A gate with far more places than anybody asks for is charged after the jobs are found; all else holds as for any claim."""

import pytest
from django.utils.timezone import now

from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.engine.claim_roomy import claim_roomy
from apps.jobs.engine.gates import gates
from apps.queues.models import Gate, PausedType
from apps.queues.services import queues
from apps.workers.models import Session
from tests.acts import OFFERS, enqueue, finish
from tests.factories import SessionFactory
from tests.jobs.aims import workflow
from tests.jobs.breakers import open_by_hand
from tests.jobs.looks import ANN, look
from tests.jobs.test_gates import in_flight, limit

pytestmark = pytest.mark.django_db

SEVERAL = {"pong": 5000, **OFFERS}  # types of which something may wait; jobs of one stand in one line


@pytest.fixture(params=[OFFERS, SEVERAL], ids=["one type", "several"])
def roomy(request):
    def claim(session, queue, *, limit=10):
        return claim_roomy(session_id=session.pk, queue_id=queue.pk, offers=request.param, limit=limit)

    return claim


def is_roomy(queue):
    [gate] = gates(queues=[queue.pk], types=list(OFFERS), session_id=None)
    return gate.roomy


@pytest.mark.parametrize(
    ("limits", "is_so"),
    [
        ({"max_concurrency": 100}, True),
        ({"max_concurrency": 99}, False),
        ({"max_concurrency": 200, "shards": 2}, True),
        ({"max_concurrency": 198, "shards": 2}, False),
        ({"max_concurrency": 500, "rate_per_second": 9.0}, False),
        ({"rate_per_second": 9.0}, False),
    ],
)
def test_gates_say_which_are_roomy(queue, limits, is_so):
    enqueue(queue)
    limit(queue, **limits)
    assert is_roomy(queue) is is_so


def test_gates_say_of_which_types_something_waits(queue):
    enqueue(queue)
    enqueue(queue, type="pong")
    limit(queue, max_concurrency=100)
    [gate] = gates(queues=[queue.pk], types=["none", "pong", "ping"], session_id=None)
    assert sorted(gate.types) == ["ping", "pong"]


def test_the_most_urgent_comes_first_of_whatever_type(queue, session):
    limit(queue, max_concurrency=100)
    jobs = [enqueue(queue, type=name, priority=urgency) for name, urgency in (("ping", 1), ("pong", 3), ("ping", 2))]
    got = claim_roomy(session_id=session.pk, queue_id=queue.pk, offers=SEVERAL, limit=2)
    assert [one.job_id for one in got.jobs] == [jobs[1], jobs[2]]
    assert 4.5 < got.jobs[0].limit_seconds <= 5


def test_a_handler_s_own_limit_holds_where_one_type_waits(queue, session):
    limit(queue, max_concurrency=100)
    enqueue(queue)
    [job] = claim_roomy(session_id=session.pk, queue_id=queue.pk, offers={"ping": 5000}, limit=2).jobs
    assert 4.5 < job.limit_seconds <= 5


def test_what_is_in_others_hands_is_seen_to_wait(queue, session, roomy):
    limit(queue, max_concurrency=100)
    enqueue(queue)
    assert roomy(session, queue).jobs
    assert roomy(session, queue).candidates == 0  # nothing waits


def test_what_it_takes_is_charged_and_given_back(queue, session, roomy):
    limit(queue, max_concurrency=400, shards=4)
    jobs = [enqueue(queue, priority=priority) for priority in (0, 5, 9)]
    got = roomy(session, queue, limit=2)
    assert [one.job_id for one in got.jobs] == [jobs[2], jobs[1]]
    assert got.candidates > 0
    [shard] = {look(one.job_id).shard for one in got.jobs}
    assert Gate.objects.get(queue=queue, shard=shard).in_flight == 2
    assert sum(in_flight(queue)) == 2
    finish(session, *got.jobs)
    assert sum(in_flight(queue)) == 0


def test_no_more_than_there_are_slots_or_places(queue, roomy):
    limit(queue, max_concurrency=3)
    for _ in range(9):
        enqueue(queue)
    small, large = (SessionFactory.create(concurrency=slots) for slots in (2, 9))
    assert len(roomy(small, queue).jobs) == 2
    assert len(roomy(large, queue).jobs) == 1
    assert roomy(large, queue).candidates == 0  # full: this way is shut
    assert in_flight(queue) == [3]


def paused(queue, session):
    queues.pause(queue=queue, actor=SYSTEM)


def without_type(queue, session):
    PausedType.objects.create(project=queue.project, type="ping", paused_at=now())


def draining(queue, session):
    Session.objects.filter(pk=session.pk).update(draining=True)


def limited_in_rate(queue, session):
    limit(queue, rate_per_second=100.0)


def broken(queue, session):
    open_by_hand(queue)


def not_yet_open(queue, session):
    Gate.objects.filter(queue=queue).update(opens_after=1)


@pytest.mark.parametrize("how", [paused, without_type, draining, limited_in_rate, broken, not_yet_open])
def test_whatever_shuts_a_queue_shuts_this_way_too(queue, session, how, roomy):
    limit(queue, max_concurrency=200)
    enqueue(queue)
    how(queue, session)
    got = roomy(session, queue)
    assert (got.jobs, got.candidates, sum(in_flight(queue))) == ([], 0, 0)


def test_what_waits_for_one_worker_does_not_go_this_way_nor_does_a_reserved_worker(queue, session, roomy):
    limit(queue, max_concurrency=200)
    flow, _ = workflow(queue)
    assert roomy(session, queue).jobs == []
    services.reserve(workflow_id=flow.pk, actor=ANN, worker=session.worker.uid)
    services.settle_reservations()
    enqueue(queue)
    assert roomy(session, queue).jobs == []
