"""A breaker opens by its rules: which ends count, how many of them, and from when on."""

import pytest
from django.db import IntegrityError, transaction

from apps.errors import BadInput
from apps.jobs.engine.gates import gates
from apps.jobs.engine.outcomes import Watch
from apps.queues.models import Queue
from apps.queues.services import breakers
from apps.queues.services import queues as changes
from tests.acts import OFFERS, enqueue, finish, take
from tests.factories import QueueFactory
from tests.jobs.breakers import FAIL, admitted, close_by_hand, end, fresh, gate, look, rules, state
from tests.jobs.looks import ANN, run


@pytest.mark.parametrize("outcome", ["retryable_error", "permanent_error", "timeout", "crashed"])
def test_so_many_failures_open_it(queue, session, outcome):
    rules(queue, trip=2)
    watch = Watch()
    end(session, queue, outcome)
    assert look(watch) == []
    end(session, queue, "success", outcome)
    assert look(watch) == [queue.pk]
    assert state(queue) == "open"
    enqueue(queue)
    assert take(session, queue) == admitted(session, queue) == []
    assert gates(queues=[queue.pk], types=list(OFFERS), session_id=None) == []


@pytest.mark.parametrize("outcome", ["snoozed", "released", "cancelled", "lost"])
def test_what_says_nothing_of_the_work_counts_for_nothing(queue, session, outcome):
    rules(queue, window=2, trip=1)
    end(session, queue, *[outcome] * 3)
    assert look() == []
    rules(queue, window=2, trip=None, share=0.5)
    end(session, queue, FAIL, outcome, outcome)
    assert look() == []  # nor does it fill the window


def test_a_share_is_judged_when_the_window_is_full(queue, session):
    rules(queue, window=4, trip=None, share=0.5)
    watch = Watch()
    end(session, queue, FAIL, FAIL, FAIL)
    assert look(watch) == []
    end(session, queue, "success")
    assert look(watch) == [queue.pk]


@pytest.mark.parametrize(("window", "share", "failures"), [(25, 0.28, 7), (20, 0.3, 6), (5, 1, 5), (10, 0.01, 1)])
def test_a_share_opens_at_exactly_that_share(queue, session, window, share, failures):
    rules(queue, window=window, trip=None, share=share)
    watch = Watch()
    end(session, queue, *["success"] * (window + 1 - failures), *[FAIL] * (failures - 1))
    assert look(watch) == []
    end(session, queue, FAIL)
    assert look(watch) == [queue.pk]


def test_only_the_last_of_them_count(queue, session):
    rules(queue, window=3, trip=2)
    watch = Watch()
    for _ in range(3):
        end(session, queue, FAIL, "success", "success")
        assert look(watch) == []
    end(session, queue, FAIL, "success", FAIL)
    assert look(watch) == [queue.pk]


def test_whoever_begins_to_watch_reads_back_ten_minutes_and_no_further(queue, session):
    rules(queue, trip=2)
    end(session, queue, FAIL, FAIL)
    run("UPDATE queues_queue SET breaker_since = breaker_since - interval '1 day'")
    run("UPDATE jobs_attempt SET finished_at = finished_at - interval '11 minutes'")
    assert look() == []
    end(session, queue, FAIL, FAIL)
    assert look() == [queue.pk]


def test_what_is_read_twice_counts_once(queue, session):
    rules(queue, trip=3)
    watch = Watch()
    end(session, queue, FAIL, FAIL)
    assert look(watch) == look(watch) == []
    end(session, queue, FAIL)
    assert look(watch) == [queue.pk]


def test_what_started_before_the_rules_were_made_counts_for_nothing(queue, session):
    end(session, queue, FAIL, FAIL)
    enqueue(queue)
    [running] = take(session, queue)
    rules(queue, trip=2)
    finish(session, running, outcome=FAIL)
    watch = Watch()
    end(session, queue, FAIL)
    assert look(watch) == []
    rules(queue, trip=1, window=5)  # other rules begin anew
    assert look(watch) == []


def test_what_started_before_it_closed_counts_for_nothing(queue, session):
    rules(queue, trip=2)
    for _ in range(3):
        enqueue(queue)
    long_ones = take(session, queue)
    watch = Watch()
    end(session, queue, FAIL, FAIL)
    assert look(watch) == [queue.pk]
    close_by_hand(queue)
    finish(session, *long_ones, outcome=FAIL)
    end(session, queue, FAIL)
    assert look(watch) == []


def test_another_queues_failures_do_not_count(queue, session):
    other = QueueFactory.create(project=queue.project)
    rules(queue), rules(other)
    end(session, queue, FAIL)
    end(session, other, FAIL)
    assert look() == []
    end(session, other, FAIL)
    assert look() == [other.pk]
    assert gate(queue) is None


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"window": 0, "trip": 1}, "breaker_window"),
        ({"window": 1001}, "breaker_window"),
        ({"trip": 0}, "breaker_trip"),
        ({"window": 3, "trip": 4}, "breaker_trip"),
        ({"trip": None}, "breaker_trip"),
        ({"share": 0.0}, "breaker_share"),
        ({"share": 1.01}, "breaker_share"),
        ({"share": float("nan")}, "breaker_share"),
        ({"cooldown_seconds": 0}, "breaker_cooldown_seconds"),
        ({"cooldown_seconds": 86_401}, "breaker_cooldown_seconds"),
        ({"cooldown_seconds": None}, "breaker_cooldown_seconds"),
        ({"window": None}, "breaker_trip"),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_name(queue, fields, named):
    with pytest.raises(BadInput) as refused:
        rules(queue, **fields)
    assert refused.value.errors[0].pointer == f"#/{named}"
    assert fresh(queue).breaker_window is None


@pytest.mark.parametrize(
    "fields",
    [
        {"breaker_window": 5, "breaker_cooldown_seconds": 5},
        {"breaker_window": 5, "breaker_trip": 6, "breaker_cooldown_seconds": 5},
        {"breaker_window": 5, "breaker_trip": 5},
        {"breaker_window": 5, "breaker_share": 2, "breaker_cooldown_seconds": 5},
    ],
)
def test_the_database_takes_no_breaker_that_is_not_whole(queue, fields):
    with pytest.raises(IntegrityError, match="queue_breaker_is_whole"), transaction.atomic():
        Queue.objects.filter(pk=queue.pk).update(**fields)


def test_a_queue_is_made_with_a_breaker_that_counts_from_then_on(queue):
    made = changes.create(
        project=queue.project,
        actor=ANN,
        name="guarded",
        breaker_window=3,
        breaker_share=0.5,
        breaker_cooldown_seconds=1,
    )
    assert fresh(made).breaker_since == made.breaker_since is not None
    assert breakers.trip_breaker(queue_id=made.pk, since=made.breaker_since, failures=2)
