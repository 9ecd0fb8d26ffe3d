"""Breakers are opened and closed by hand; whoever does it, it is told and written down."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import Entry
from apps.audit.record import spoken
from apps.errors import BadInput
from apps.jobs import services
from tests.acts import enqueue, finish, take
from tests.jobs.breakers import (
    FAIL,
    admitted,
    close_by_hand,
    cooldown,
    end,
    gate,
    let_try,
    look,
    open_by_hand,
    rules,
    state,
    told,
    try_once,
)
from tests.jobs.looks import ANN


def entries(queue):
    return list(Entry.objects.filter(target_id=str(queue.pk)).order_by("id").values_list("action", "actor"))


def test_it_is_opened_and_closed_by_hand_and_written_down(queue, session):
    until = timezone.now() + timedelta(hours=1)
    open_by_hand(queue, until=until)
    enqueue(queue)
    assert take(session, queue) == admitted(session, queue) == []
    assert (gate(queue).reopens_at, gate(queue).trips) == (until, 0)
    close_by_hand(queue)
    close_by_hand(queue)
    assert len(take(session, queue)) == 1
    assert entries(queue) == [("queue.breaker_open", ANN.name), ("queue.breaker_close", ANN.name)]
    opened, closed = Entry.objects.filter(target_id=str(queue.pk)).order_by("id")
    shut = {"breaker": "open", "reopens_at": spoken(until), "trips": 0}
    none = {"breaker": "closed", "reopens_at": None, "trips": 0}
    assert (opened.before, opened.after) == (none, shut)
    assert (closed.before, closed.after) == (shut, none)
    said = {"by": ANN.name, "failures": None, "window": None, "trips": 0}
    assert [(what, {**data, "until": None}) for what, data in told(queue)] == [
        ("opened", {**said, "until": None}),
        ("closed", {**said, "until": None}),
    ]


def test_without_an_end_it_is_open_for_a_cooldown_or_a_minute(queue):
    open_by_hand(queue)
    assert cooldown(queue) == 60
    rules(queue, cooldown_seconds=7)
    open_by_hand(queue)
    assert cooldown(queue) == 7
    assert state(queue) == "open"


@pytest.mark.parametrize("way", ["open", "closed"])
def test_an_end_that_has_passed_or_belongs_to_none_is_refused(queue, way):
    with pytest.raises(BadInput) as refused:
        services.set_breaker(queue=queue, actor=ANN, state=way, until=timezone.now())
    assert refused.value.errors[0].pointer == "#/until"
    assert gate(queue) is None


def test_a_probe_of_a_breaker_that_was_opened_anew_decides_nothing(queue, session):
    rules(queue, trip=1)
    end(session, queue, FAIL)
    look()
    probe = let_try(session, queue)
    open_by_hand(queue)
    finish(session, probe)
    look()
    assert (state(queue), gate(queue).trips) == ("open", 1)


def test_taking_the_breaker_off_closes_it(queue, session):
    rules(queue, trip=1)
    end(session, queue, FAIL)
    look()
    rules(queue, window=None, trip=None, cooldown_seconds=None)
    assert gate(queue) is None
    assert [action for action, _ in entries(queue)] == [
        "queue.update",
        "queue.breaker_open",
        "queue.update",
        "queue.breaker_close",
    ]


def test_what_happens_by_itself_is_told_and_recorded_as_the_systems(queue, session):
    rules(queue, window=5, trip=2)
    end(session, queue, "success", FAIL, FAIL)
    look()
    try_once(session, queue, "permanent_error")
    try_once(session, queue, "success")
    ways = [what for what, _ in told(queue)]
    assert ways == ["opened", "half_open", "opened", "half_open", "closed"]
    first, _, second, _, last = [data for _, data in told(queue)]
    assert (first["by"], first["failures"], first["window"], first["trips"]) == ("system", 2, 5, 1)
    assert (second["failures"], second["trips"], last["trips"], last["until"]) == (1, 2, 2, None)
    assert gate(queue) is None
    assert [one for one in entries(queue) if one[0] != "queue.update"] == [
        ("queue.breaker_open", "system"),
        ("queue.breaker_open", "system"),
        ("queue.breaker_close", "system"),
    ]
