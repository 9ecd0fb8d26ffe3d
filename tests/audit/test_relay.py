"""Facts become events: numbered densely, packed, in the order of each job's life."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from uuid import uuid4

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from apps.audit import relay as module
from apps.audit.models import Event, Head, Outbox
from apps.audit.relay import SETTLED, Place, relay, relay_on
from apps.audit.tail.live import CHANNEL
from apps.sql import listen, open_async
from tests.acts import enqueue, finish, take, take_one
from tests.factories import ProjectFactory, QueueFactory
from tests.processes import until
from tests.races.stage import aside

pytestmark = pytest.mark.usefixtures("own_database")


def fact(project, *jobs, kind="job.started", **fields):
    return Outbox.objects.create(
        project_id=project.pk, job_ids=list(jobs), kind=kind, at=fields.pop("at", timezone.now()), **fields
    )


def log(project):
    return list(Event.objects.filter(project_id=project.pk).order_by("last_seq"))


def test_numbers_are_dense_and_go_on(project):
    fact(project, *(uuid4() for _ in range(3)))
    fact(project, uuid4(), kind="job.completed")
    assert relay() == 2
    fact(project, uuid4(), uuid4())
    assert relay() == 1
    assert [(event.first_seq, event.last_seq) for event in log(project)] == [(1, 3), (4, 4), (5, 6)]
    assert Head.objects.get(project_id=project.pk).seq == 6
    assert not Outbox.objects.exists()


def test_each_project_counts_for_itself(project):
    other = ProjectFactory.create()
    for home in (project, other, project):
        fact(home, uuid4())
    relay()
    assert [event.last_seq for event in log(other)] == [1]
    assert log(project)[-1].last_seq == 2


def test_neighbours_of_one_kind_are_packed_with_what_is_said_of_each(project):
    at = timezone.now().replace(microsecond=500)
    one, two, three = (uuid4() for _ in range(3))
    fact(project, one, attempts=[1], at=at)
    fact(project, two, three, attempts=[2, 3], errors=["Oops", None], at=at)
    relay()
    [event] = log(project)
    assert event.job_ids == [one, two, three]
    assert event.attempts == [1, 2, 3]
    assert event.errors == [None, "Oops", None]
    assert (event.first_seq, event.last_seq) == (1, 3)


@pytest.mark.parametrize(
    "difference", [{"kind": "job.completed"}, {"state": "x"}, {"queue_id": uuid4()}, {"data": {"a": 1}}]
)
def test_what_differs_is_not_packed(project, difference):
    at = timezone.now().replace(microsecond=500)
    fact(project, uuid4(), at=at)
    fact(project, uuid4(), at=at, **difference)
    relay()
    assert len(log(project)) == 2


def test_a_later_second_is_not_packed(project):
    fact(project, uuid4(), at=timezone.now() - timedelta(seconds=2))
    fact(project, uuid4())
    relay()
    assert len(log(project)) == 2


def test_the_order_of_one_jobs_life_is_kept(project):
    """Packing by kind over the whole lot would tell started, started, failed."""
    job, at = uuid4(), timezone.now().replace(microsecond=500)
    for kind in ("job.started", "job.retry_wait", "job.started"):
        fact(project, job, kind=kind, at=at)
    relay()
    assert [event.kind for event in log(project)] == ["job.started", "job.retry_wait", "job.started"]


def test_an_event_has_about_a_thousand_jobs_at_most(project, monkeypatch):
    monkeypatch.setattr(module, "PACK", 10)
    at = timezone.now().replace(microsecond=500)
    for _ in range(6):
        fact(project, *(uuid4() for _ in range(4)), at=at)
    relay()
    assert [event.last_seq for event in log(project)] == [12, 20, 24]


def test_a_fact_about_no_job_has_a_number_of_its_own(project):
    fact(project, kind="queue.paused")
    fact(project, kind="queue.paused")
    relay()
    assert [event.last_seq for event in log(project)] == [1, 2]


def test_more_than_one_statement_can_take(project, monkeypatch):
    monkeypatch.setattr(module, "LIMIT", 2)
    jobs = [uuid4() for _ in range(5)]
    for job in jobs:
        fact(project, job)
    assert relay() == 5
    assert [job for event in log(project) for job in event.job_ids] == jobs


def test_a_fact_whose_day_is_gone_does_not_stop_the_rest(project):
    fact(project, uuid4(), at=timezone.now() - timedelta(days=400))
    fact(project, uuid4())
    relay()
    assert log(project)[-1].last_seq == 2


def test_two_relays_at_once_give_no_number_twice(project, queue, session):
    """The invariants at the end of the test look for gaps and doubles."""
    start = Barrier(4)

    def work(turn):
        start.wait()
        for _ in range(30):
            fact(project, uuid4(), uuid4()) if turn % 2 else relay()
        connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    relay()
    assert Head.objects.get().seq == 120


def test_a_relay_that_finds_another_at_work_leaves_it_alone(own_database, project):
    fact(project, uuid4())
    with own_database.connect() as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtext('fencepost'), hashtext('relay'))")
        assert relay() == 0
    assert relay() == 1


def test_an_open_transaction_delays_only_its_own_facts(own_database, project):
    with own_database.connect() as slow:
        slow.execute("INSERT INTO audit_outbox (project_id, kind, job_ids) VALUES (%s, 'slow', '{}')", (project.pk,))
        fact(project, uuid4(), kind="quick")
        assert relay() == 1
    assert relay() == 1
    assert [event.kind for event in log(project)] == ["quick", "slow"]


def test_a_whole_life_is_told_in_order(queue, session):
    job_id = enqueue(queue)
    finish(session, take_one(session, queue), outcome="retryable_error", delay_ms=1000)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job_live SET state = 'queued'")
    finish(session, *take(session, queue))
    relay()
    told = [(event.kind, event.state) for event in log(queue.project) if job_id in event.job_ids]
    assert told == [
        ("job.enqueued", "queued"),
        ("job.started", "running"),
        ("job.retry_wait", "retry_wait"),
        ("job.started", "running"),
        ("job.completed", "completed"),
    ]


async def test_from_a_loop_it_tells_those_who_listen(own_database):
    from asgiref.sync import sync_to_async

    project = await sync_to_async(lambda: QueueFactory.create().project)()
    await sync_to_async(fact)(project, uuid4())
    async with await open_async() as ears, await open_async() as hand:
        await listen(ears, CHANNEL)
        assert await relay_on(hand) == 1
        heard = [one.payload async for one in ears.notifies(timeout=5, stop_after=1)]
    assert heard == [str(project.pk)]


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def move(place):
    """One statement of a relay that remembers its place; answers how many facts it moved."""
    rows = module._relay(limit=module.LIMIT, pack=module.PACK, after=place.start())
    if rows:
        place.see(rows[0])
    return rows[0].facts if rows else 0


def newest():
    return Outbox.objects.order_by("-id").values_list("id", flat=True)[0]


def test_a_relay_begins_where_nothing_can_come_any_more(project):
    clock = Clock()
    place = Place(clock)
    fact(project, uuid4())
    first = newest()
    assert (move(place), place.start()) == (1, 0)
    fact(project, uuid4())
    assert (move(place), place.start()) == (1, 0)  # not yet: an id may have been given out a moment ago

    def goes_on() -> bool:
        """Any transaction of this server that began before may hold it up: those of other tests too."""
        clock.at += SETTLED
        fact(project, uuid4())
        assert move(place) == 1
        return bool(place.start() >= first)

    until(goes_on)
    clock.at += module.AFRESH
    assert place.start() == 0


def test_a_fact_that_commits_late_is_moved_before_what_follows_from_it(project):
    """Its id is lower than those that were moved meanwhile; a relay that had passed it by would never come back."""
    clock = Clock()
    place = Place(clock)
    job = uuid4()
    with transaction.atomic():
        fact(project, job, kind="job.enqueued")
        for _ in range(4):
            assert aside(lambda: (fact(project, uuid4(), kind="job.started"), move(place))[1]) == 1
            clock.at += SETTLED
        assert place.start() == 0
    fact(project, job, kind="job.completed")
    assert move(place) == 2
    assert [event.kind for event in log(project) if job in event.job_ids] == ["job.enqueued", "job.completed"]
    assert not Outbox.objects.exists()
