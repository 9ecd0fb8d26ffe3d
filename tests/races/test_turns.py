"""Of a session that claims several times at once, no more jobs run than it has slots."""

import pytest

from apps.jobs import services
from apps.jobs.engine.claim_in_turn import claim_in_turn
from apps.jobs.models import Job
from tests.factories import SessionFactory
from tests.races.stage import meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


@pytest.fixture
def session(arena):
    return SessionFactory.create(concurrency=10)


def ask(session, queue, limit=10):
    return claim_in_turn(session_id=session.pk, queues=[queue.pk], offers={"ping": None}, limit=limit).jobs


def test_a_second_claim_waits_for_the_first_and_counts_what_it_got(queue, session):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 30)
    with meanwhile(lambda: ask(session, queue)) as second:
        assert len(ask(session, queue, limit=7)) == 7
    assert len(second.result()) == 3


def test_eight_claims_at_once_fill_the_slots_and_no_more(queue, session):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 100)
    taken = together(*[lambda: ask(session, queue)] * 8)
    assert sum(map(len, taken)) == 10
    assert Job.objects.filter(state="running", session_id=session.pk).count() == 10


def test_sessions_do_not_wait_for_each_other(queue, session):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 30)
    other = SessionFactory.create(concurrency=10)
    with meanwhile(lambda: ask(session, queue)) as second:
        ask(session, queue)
        assert len(together(lambda: ask(other, queue))[0]) == 10
    assert second.result() == []
