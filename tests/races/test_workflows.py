"""A whole workflow is steered while its jobs run, end, join and wake each other: nothing passes by."""

from functools import partial

import pytest

from apps.errors import IllegalMove
from apps.jobs import services
from apps.jobs.models import Job
from apps.jobs.services.join import hold_workflow
from tests.acts import enqueue, finish, take, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, fail_for_good, look, state
from tests.jobs.workflows import begin, standing, states, step, work
from tests.races.stage import meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")
PAIR: dict[str, list[str]] = {"a": [], "b": ["a"]}
LADDER = {f"{side}{n}": [f"{other}{n - 1}" for other in "lr"] if n else [] for n in range(8) for side in "lr"}


def joins(film, queue):
    return services.submit(queue=queue, type="ping", workflow=film.pk).pk


@pytest.mark.parametrize("outcome", ["retryable_error", "snoozed", "released", "lost"])
def test_an_attempt_that_is_handed_back_while_its_workflow_is_paused_waits_for_the_resume(queue, session, outcome):
    film = begin(queue, PAIR)
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken, outcome=outcome)):
        services.pause_workflow(workflow=film, actor=ANN)
    assert states(film) == {"a": "paused", "b": "paused"}


@pytest.mark.parametrize("outcome", ["retryable_error", "snoozed", "released", "lost"])
def test_a_pause_that_meets_an_attempt_that_is_handed_back_holds_it(queue, session, outcome):
    film = begin(queue, PAIR)
    taken = take_one(session, queue)
    with meanwhile(lambda: services.pause_workflow(workflow=film, actor=ANN)):
        finish(session, taken, outcome=outcome)
    assert states(film) == {"a": "paused", "b": "paused"}


def test_a_pause_that_meets_a_parents_end_holds_the_child_it_woke(queue, session):
    film = begin(queue, PAIR)
    taken = take_one(session, queue)
    with meanwhile(lambda: services.pause_workflow(workflow=film, actor=ANN)):
        finish(session, taken)
        assert states(film)["b"] == "queued"
    assert states(film) == {"a": "completed", "b": "paused"}


def test_no_claim_that_begins_after_a_pause_takes_a_job(queue):
    film = begin(queue, {f"j{n}": [] for n in range(40)})
    sessions = SessionFactory.create_batch(3, concurrency=100)
    hands = [lambda one=one: [take(one, queue, limit=2) for _ in range(5)] for one in sessions]
    together(lambda: services.pause_workflow(workflow=film, actor=ANN), *hands)
    assert take(sessions[0], queue) == []
    assert set(states(film).values()) <= {"paused", "running"}
    for job in Job.objects.filter(workflow_id=film.pk, state="running"):
        assert job.resume_state == "paused"


def test_a_job_that_joins_while_its_workflow_is_being_paused_is_paused(queue):
    film = begin(queue, PAIR)
    with meanwhile(lambda: joins(film, queue)) as joined:
        services.pause_workflow(workflow=film, actor=ANN)
    assert state(joined.result()) == "paused"


def test_a_pause_waits_for_a_job_that_is_joining_and_holds_it_too(queue):
    film = begin(queue, PAIR)
    with meanwhile(lambda: services.pause_workflow(workflow=film, actor=ANN)):
        joined = joins(film, queue)
    assert state(joined) == "paused"


def test_a_job_that_joins_while_its_workflow_is_being_cancelled_is_refused(queue):
    film = begin(queue, PAIR)
    with meanwhile(lambda: joins(film, queue)) as joined:
        services.cancel_workflow(workflow=film, actor=ANN)
    with pytest.raises(IllegalMove):
        joined.result()
    assert Job.objects.count() == 2


def test_a_cancel_waits_for_a_job_that_is_joining_and_ends_it_too(queue):
    film = begin(queue, PAIR)
    with meanwhile(lambda: services.cancel_workflow(workflow=film, actor=ANN)):
        joined = joins(film, queue)
    assert state(joined) == "cancelled"


def test_a_cancel_that_meets_a_parents_end_ends_the_child_it_woke(queue, session):
    film = begin(queue, PAIR)
    taken = take_one(session, queue)
    with meanwhile(lambda: services.cancel_workflow(workflow=film, actor=ANN)):
        finish(session, taken)
    assert states(film) == {"a": "completed", "b": "cancelled"}


def test_a_parent_that_ends_while_its_workflow_is_cancelled_wakes_nobody(queue, session):
    film = begin(queue, PAIR)
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken)):
        services.cancel_workflow(workflow=film, actor=ANN)
    assert states(film) == {"a": "cancelled", "b": "cancelled"}


def test_of_two_retries_at_once_one_runs_what_failed_and_the_other_finds_nothing(queue, session):
    film = begin(queue, PAIR)
    work(session, queue, fail=["a"])
    with meanwhile(lambda: services.retry_workflow(workflow=film, actor=ANN)) as second:
        services.retry_workflow(workflow=film, actor=ANN)
    with pytest.raises(IllegalMove):
        second.result()
    assert (look(step(film, "a")).generation, states(film)) == (2, {"a": "queued", "b": "blocked"})


@pytest.mark.parametrize("then", ["commit", "undo"])
def test_what_is_revived_waits_for_the_cancel_of_the_workflow_it_would_come_back_into(queue, session, then):
    dead = enqueue(queue)
    film = begin(queue, {"a": [str(dead)], "b": []})
    fail_for_good(session, queue, dead)
    revives = partial(services.replay, job_id=dead, actor=ANN, revive_descendants=True)
    with meanwhile(revives, then=then) as revived:
        services.cancel_workflow(workflow=film, actor=ANN)
    assert isinstance(revived.exception(), IllegalMove) == (then == "commit")
    assert states(film)["a"] == ("cancelled" if then == "commit" else "blocked")


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_descendant_that_appears_in_another_workflow_meanwhile_comes_back_if_that_lets_it(queue, session, cancelled):
    film = begin(queue, {"a": []})
    work(session, queue, fail=["a"])
    dead = step(film, "a")
    revives = partial(services.replay, job_id=dead, actor=ANN, revive_descendants=True)
    with meanwhile(revives) as revived:
        hold_workflow(film.pk)
        late = begin(queue, {"late": [str(dead)], "free": []})
        if cancelled:
            services.cancel_workflow(workflow=late, actor=ANN)
    assert isinstance(revived.exception(), IllegalMove) == cancelled
    assert (state(dead), states(late)["late"]) == (("dead_letter", "cancelled") if cancelled else ("queued", "blocked"))


def test_a_retry_that_meets_a_cancel_is_refused(queue, session):
    film = begin(queue, {**PAIR, "c": []})
    work(session, queue, fail=["a"], only=1)
    with meanwhile(lambda: services.retry_workflow(workflow=film, actor=ANN)) as retried:
        services.cancel_workflow(workflow=film, actor=ANN)
    with pytest.raises(IllegalMove):
        retried.result()
    assert standing(film) == "cancelled"


@pytest.mark.parametrize(
    "steers",
    [
        lambda film: services.cancel_workflow(workflow=film, actor=ANN),
        lambda film: services.pause_workflow(workflow=film, actor=ANN),
        lambda film: services.run_workflow_next(workflow=film, actor=ANN),
        lambda film: services.move_workflow(workflow=film, actor=ANN, to="up"),
        lambda film: services.set_workflow_priority(workflow=film, actor=ANN, priority=5),
    ],
)
def test_whoever_steers_a_workflow_that_many_work_on_never_deadlocks(queue, steers):
    films = [begin(queue, LADDER) for _ in range(3)]
    sessions = SessionFactory.create_batch(2, concurrency=100)

    def works(session):
        while taken := take(session, queue, limit=3):
            finish(session, *taken)

    def tries(film):
        try:
            steers(film)
        except IllegalMove:  # all was over
            return

    together(*(lambda one=one: works(one) for one in sessions), *(lambda film=film: tries(film) for film in films))
    for film in films:
        assert {"blocked", "running"} & set(states(film).values()) == set() or standing(film) == "paused"
