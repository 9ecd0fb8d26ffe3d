"""Order within a queue: priority, ageing, first in first out; one number, ties broken by id."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.jobs import services
from apps.jobs.engine.promote import promote
from tests.acts import make_due, take
from tests.factories import QueueFactory, SessionFactory
from tests.jobs.looks import let_wait, order


def submit(queue, **fields):
    return services.submit(queue=queue, type="ping", **fields).id


@pytest.fixture
def ageing(project):
    """A queue in which a level of priority is worth a minute of waiting."""
    return QueueFactory.create(project=project, aging_seconds=60)


def test_first_in_first_out(queue, session):
    jobs = [submit(queue) for _ in range(5)]
    assert order(session, queue) == jobs


def test_a_bulk_is_served_in_the_order_it_was_given(queue):
    session = SessionFactory.create(concurrency=500)
    made = services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 300).jobs
    served = [
        one.job_id for _ in range(3) for one in sorted(take(session, queue, limit=100), key=lambda one: one.fence)
    ]
    assert sorted(served[:100]) == [one.job_id for one in made[:100]]
    assert sorted(served[100:200]) == [one.job_id for one in made[100:200]]
    assert sorted(served) == [one.job_id for one in made]


def test_the_higher_priority_runs_first_however_long_the_other_has_waited(queue, session):
    patient = submit(queue, priority=0)
    let_wait(patient, 10 * 365 * 86_400)
    urgent = submit(queue, priority=1)
    least = submit(queue, priority=-1000)
    most = submit(queue, priority=1000)
    assert order(session, queue) == [most, urgent, patient, least]


def test_with_ageing_a_level_of_priority_is_worth_its_seconds_and_no_more(ageing, session):
    long, short = submit(ageing, priority=0), submit(ageing, priority=0)
    let_wait(long, 61)
    let_wait(short, 59)
    urgent = submit(ageing, priority=1)
    assert order(session, ageing) == [long, urgent, short]


def test_ageing_of_nothing_is_first_in_first_out_whatever_the_priority(project, session):
    queue = QueueFactory.create(project=project, aging_seconds=0)
    jobs = [submit(queue, priority=priority) for priority in (0, 1000, -1000)]
    assert order(session, queue) == jobs


def test_the_longest_ageing_and_the_highest_priority_fit(project, session):
    queue = QueueFactory.create(project=project, aging_seconds=10**8)
    least, most = submit(queue, priority=-1000), submit(queue, priority=1000)
    assert order(session, queue) == [most, least]


def test_a_time_in_the_past_buys_no_advantage(queue, session):
    honest = submit(queue)
    pushy = submit(queue, run_at=timezone.now() - timedelta(days=365))
    assert order(session, queue) == [honest, pushy]


def test_a_delayed_job_takes_its_place_by_the_time_it_becomes_due(queue, session):
    delayed = submit(queue, delay_seconds=60)
    before = submit(queue)
    make_due(delayed)
    promote(limit=10)
    assert order(session, queue) == [before, delayed]  # promotion does not change its rank


def test_a_change_of_ageing_leaves_those_who_wait_as_they_were_ranked(ageing, session):
    first = submit(ageing, priority=0)
    ageing.aging_seconds = None
    ageing.save()
    urgent = submit(ageing, priority=1)
    assert order(session, ageing) == [urgent, first]
