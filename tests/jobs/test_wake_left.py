"""A fan-out too wide for the transaction of its parent's end is woken in several, and none of it forgotten."""

import pytest

from apps.jobs import services
from apps.jobs.engine.wake_left import wake_left
from apps.jobs.models import Dependency, Unwoken
from tests import acts
from tests.acts import enqueue, take, take_one
from tests.jobs.looks import ANN, fail_for_good, state

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """One transaction settles two children."""
    monkeypatch.setattr("apps.jobs.engine.wake_dependents.LIMIT", 1)
    monkeypatch.setattr("apps.jobs.engine.wake_dependents.ROUNDS", 2)


@pytest.fixture
def parent(queue):
    return enqueue(queue)


@pytest.fixture
def children(queue, parent):
    return [enqueue(queue, depends_on=[parent]) for _ in range(5)]


def states(children):
    return sorted(state(child) for child in children)


def test_what_its_end_did_not_wake_the_next_turns_do(queue, session, parent, children):
    acts.finish(session, take_one(session, queue))
    assert states(children) == ["blocked"] * 3 + ["queued"] * 2
    assert len(wake_left()) == 2
    assert states(children) == ["blocked"] + ["queued"] * 4
    wake_left()
    assert states(children) == ["queued"] * 5
    assert not Dependency.objects.filter(settled_at=None).exists()
    assert not Unwoken.objects.exists()
    assert wake_left() == []


def test_so_it_is_with_the_children_of_what_fell(queue, session, parent, children):
    grandchildren = [enqueue(queue, depends_on=[child]) for child in children]
    fail_for_good(session, queue, parent)
    turns = 0
    while Unwoken.objects.exists():
        wake_left()
        turns += 1
    assert turns > 1
    assert states(children + grandchildren) == ["cancelled"] * 10


def test_one_that_was_replayed_meanwhile_wakes_nobody_before_it_ends_again(queue, session, parent):
    children = [enqueue(queue, depends_on=[parent], on_parent_failure="run") for _ in range(5)]
    fail_for_good(session, queue, parent)
    services.replay(job_id=parent, actor=ANN)
    assert wake_left() == []
    assert states(children) == ["blocked"] * 3 + ["queued"] * 2
    assert not Unwoken.objects.exists()
    acts.finish(session, *[one for one in take(session, queue) if one.job_id == parent])
    while Unwoken.objects.exists():
        wake_left()
    assert "blocked" not in states(children)


def test_an_end_that_leaves_nobody_behind_is_not_remembered(queue, session, parent):
    enqueue(queue, depends_on=[parent])
    acts.finish(session, take_one(session, queue))
    assert not Unwoken.objects.exists()
