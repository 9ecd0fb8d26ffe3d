"""Failures are summarized by many schedulers at once, and while their queue is deleted."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils.timezone import now

from apps.jobs.engine.prose import keep, wanted
from apps.jobs.engine.summarize import due, summarize
from apps.queues.models import FailureSummary, Queue
from tests.factories import QueueFactory
from tests.jobs.failures import fail
from tests.races.stage import Meeting, aside, together

pytestmark = pytest.mark.usefixtures("arena")


def test_eight_schedulers_at_once_make_one_summary(queue, session):
    fail(session, queue, error_class="E")
    [one] = due(window_hours=24)
    together(*[lambda: summarize(one, window_hours=24, writes=False)] * 8)
    [kept] = FailureSummary.objects.get().failures
    assert (kept["error_class"], kept["count"]) == ("E", 1)


def test_an_older_look_does_not_take_the_place_of_a_newer_one(queue, session):
    fail(session, queue)
    [one] = due(window_hours=24)
    summarize(one, window_hours=24, writes=False)
    FailureSummary.objects.update(computed_at=now() + timedelta(days=365), failures=["newer"])
    assert not summarize(one, window_hours=24, writes=False)
    assert FailureSummary.objects.get().failures == ["newer"]


def test_a_queue_that_is_deleted_meanwhile_gets_none(queue, session):
    fail(session, queue)
    [one] = due(window_hours=24)
    late = Meeting(lambda: summarize(one, window_hours=24, writes=False))
    with transaction.atomic():
        Queue.objects.filter(pk=queue.pk).update(deleted_at=now())
        Queue.every.filter(pk=queue.pk).delete()
        late.meet()
        assert aside(lambda: FailureSummary.objects.count()) == 0
    assert late.result() is False


def test_of_eight_schedulers_at_once_one_asks_the_model(queue, session):
    fail(session, queue)
    [one] = due(window_hours=24)
    summarize(one, window_hours=24, writes=True)
    taken = together(*[lambda: wanted(calls_max=9)] * 8)
    assert [one.queue_id for one in taken if one] == [queue.pk]


def test_a_queue_that_is_deleted_while_the_model_is_asked_keeps_nothing(queue, session):
    fail(session, queue)
    [one] = due(window_hours=24)
    summarize(one, window_hours=24, writes=True)
    asked = wanted(calls_max=9)
    assert asked is not None
    Queue.every.filter(pk=queue.pk).delete()
    assert keep(asked, text="Mail fails.", model="m") is None
    assert not FailureSummary.objects.exists()


def test_however_many_schedulers_there_are_no_more_calls_are_made_than_allowed(queue, session):
    crowd = [queue, *QueueFactory.create_batch(7, project=queue.project)]
    for one in crowd:
        fail(session, one)
    for one in due(window_hours=24):
        summarize(one, window_hours=24, writes=True)
    handed = [one for one in together(*[lambda: wanted(calls_max=2)] * 8) if one]
    while (one := wanted(calls_max=2)) is not None:
        handed.append(one)
    assert len({one.queue_id for one in handed}) == len(handed) == 2
