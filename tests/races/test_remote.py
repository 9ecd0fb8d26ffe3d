"""Remote workers whose calls cross: claims at once, a claim and a goodbye, two boots of one name, reports said twice."""

from functools import partial

import pytest

from apps.accounts.models import Organization
from apps.errors import Conflict
from apps.jobs import services
from apps.jobs.engine.report import Ended
from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import find
from apps.queues.models import Queue
from apps.runtime.services import remote
from apps.workers.engine.register import About, register
from apps.workers.models import Session
from tests.factories import SessionFactory, WorkerFactory
from tests.races.stage import meanwhile, together
from tests.races.test_gates import limit

pytestmark = pytest.mark.usefixtures("arena")


@pytest.fixture
def own(queue) -> Session:
    worker = WorkerFactory.create(organization=queue.project.organization)
    return SessionFactory.create(worker=worker, queues=[queue.pk], types=["ping"], concurrency=5)


def take(session: Session, queue: Queue, count: int = 5):
    return remote.take(session=session, queues={queue.pk: 1}, types=["ping"], limit=count).jobs


def running(queue: Queue) -> int:
    return Job.objects.filter(queue=queue, state="running").count()


@pytest.mark.parametrize("cap", [None, 100])
def test_claims_at_once_are_never_given_more_than_there_are_slots(own, queue, cap):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 30)
    if cap:
        limit(queue, max_concurrency=cap)
        take(own, queue, 1)  # learns that there are limits
    together(*[lambda: take(own, queue, 3) for _ in range(4)])
    assert running(queue) <= 5
    take(own, queue)
    assert running(queue) == 5


def test_a_claim_that_crosses_a_goodbye_leaves_nothing_behind(own, queue):
    for _round in range(5):
        services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 3)
        session = SessionFactory.create(worker=own.worker, queues=[queue.pk], types=["ping"])
        calls = [partial(take, session, queue), partial(remote.leave, session=session)]
        together(*calls)
        assert running(queue) == 0
        assert not Job.objects.filter(queue=queue, attempt__gt=0).exists()


def test_a_goodbye_waits_for_the_claim_that_is_under_way(own, queue):
    services.submit(queue=queue, type="ping")
    with meanwhile(lambda: remote.leave(session=own)) as left:
        assert len(take(own, queue)) == 1
    assert left.result() == 1
    assert running(queue) == 0


def test_of_two_organizations_that_want_one_name_at_once_one_gets_it(queue):
    other = Organization.objects.create(name="Other", slug="other")
    about = About(concurrency=1, lease_seconds=30.0, hostname="", pid=0)

    def begin(home):
        try:
            return register(uid="wanted", organization_id=home.pk, **about)
        except Conflict:
            return None

    made = together(lambda: begin(queue.project.organization), lambda: begin(other))
    assert sum(one is not None for one in made) == 1
    assert Session.objects.filter(worker__uid="wanted").count() == 1


def test_a_report_that_is_said_twice_at_once_is_applied_once_and_fenced_never(own, queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    jobs = take(own, queue)
    ended = [Ended(job_id=one.job_id, fence=one.fence, session_id=own.pk, outcome="success") for one in jobs]
    assert together(*[lambda: remote.settle(session=own, ended=ended, places={}) for _ in range(3)]) == [[], [], []]
    assert Attempt.objects.filter(queue_id=queue.pk).count() == 5
    assert all(find(one.job_id).state == "completed" for one in jobs)
