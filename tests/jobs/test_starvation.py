"""Case H32: who has waited long is not passed by for ever, and who was lost does not begin again at the end."""

import pytest

from apps.jobs import services
from apps.jobs.engine.promote import promote
from tests.acts import enqueue, make_due, take, take_one
from tests.factories import QueueFactory, SessionFactory
from tests.jobs.looks import let_lapse, let_wait, look, order, reap_all, run


@pytest.fixture
def ageing(project):
    """A queue in which a level of priority is worth a minute of waiting."""
    return QueueFactory.create(project=project, aging_seconds=60)


def test_under_a_stream_of_urgent_jobs_the_low_one_runs_within_its_ageing(ageing, session):
    """Each level is worth a minute: after a hundred of them every job that comes now comes too late to pass."""
    low, least = enqueue(ageing, priority=0), enqueue(ageing, priority=-1000)
    let_wait(low, 100 * 60 + 1)
    let_wait(least, 1100 * 60 + 1)
    fresh = [enqueue(ageing, priority=100) for _ in range(50)]
    assert order(session, ageing, limit=2) == [low, least]
    assert order(session, ageing, limit=1) == fresh[:1]


def test_just_short_of_its_ageing_the_low_one_still_waits(ageing, session):
    low = enqueue(ageing, priority=0)
    let_wait(low, 100 * 60 - 1)
    urgent = enqueue(ageing, priority=100)
    assert order(session, ageing) == [urgent, low]


def test_a_job_lost_with_its_worker_is_next_before_thousands_of_fresh_ones(queue, session):
    lost = enqueue(queue, priority=1)
    taken = take_one(session, queue)
    rank = look(lost).rank
    services.submit_batch(queue=queue, jobs=[{"type": "ping", "priority": 1}] * 1000)
    let_lapse(session)
    reap_all()
    assert (look(lost).state, look(lost).rank, taken.job_id) == ("retry_wait", rank, lost)
    make_due(lost)
    promote(limit=10)
    other = SessionFactory.create()
    assert take_one(other, queue).job_id == lost


def test_a_bulk_of_one_transaction_is_first_in_first_out_though_all_stand_on_one_rank(queue):
    session = SessionFactory.create(concurrency=1000)
    made = [one.job_id for one in services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 1000).jobs]
    run("UPDATE jobs_job_live SET rank = 1 WHERE queue_id = %s", [queue.pk])  # as if by one tick of the clock
    served = [
        one.job_id for _ in range(20) for one in sorted(take(session, queue, limit=50), key=lambda one: one.job_id)
    ]
    assert served == made
