"""Changes of whom jobs wait for, at once: no circle closes, no end is missed, nobody waits for ever."""

import random
from contextlib import suppress

import pytest

from apps.errors import BadInput, IllegalMove
from apps.jobs import services
from apps.jobs.engine.claim import claim
from tests.acts import enqueue, finish, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, look, state
from tests.races.stage import meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def wait_for(job_id, *parents):
    services.set_parents(job_id=job_id, actor=ANN, depends_on=list(parents))


def tried(job_id, *parents):
    try:
        wait_for(job_id, *parents)
    except BadInput as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize("between", [0, 1, 5])
@pytest.mark.parametrize("turn", range(5))
def test_of_two_that_close_a_circle_together_exactly_one_wins(between, turn, queue):
    """With others between them the two share no job that they could lock."""
    here, there = [enqueue(queue)], [enqueue(queue)]
    for line in (here, there):
        for _ in range(between):
            line.append(enqueue(queue, depends_on=[line[-1]]))
    answers = together(lambda: tried(here[0], there[-1]), lambda: tried(there[0], here[-1]))
    [refused] = [answer for answer in answers if answer]
    assert "The job would wait for itself" in refused
    assert sorted(look(line[0]).state for line in (here, there)) == ["blocked", "queued"]


def test_the_second_waits_for_the_first_and_sees_its_edge(queue):
    first, second = enqueue(queue), enqueue(queue)
    with meanwhile(lambda: wait_for(second, first)) as late:
        wait_for(first, second)
    assert isinstance(late.exception(), BadInput)
    assert f"{second} → {first} → {second}" in str(late.exception())


def test_a_parent_that_ends_while_it_becomes_one_is_counted(queue, session):
    parent, job_id = enqueue(queue), enqueue(queue, type="pong")
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken)):
        wait_for(job_id, parent)
    assert (state(job_id), look(job_id).pending) == ("queued", 0)


def test_a_job_that_comes_to_wait_for_one_that_is_ending_finds_it_ended(queue, session):
    parent, job_id = enqueue(queue), enqueue(queue, type="pong")
    taken = take_one(session, queue)
    with meanwhile(lambda: wait_for(job_id, parent)) as changed:
        finish(session, taken)
    assert changed.exception() is None
    assert (state(job_id), look(job_id).pending) == ("queued", 0)


def test_a_parent_that_ends_while_it_is_let_go_is_not_counted_twice(queue, session):
    parent, other = enqueue(queue), enqueue(queue, type="pong")
    job_id = enqueue(queue, type="pong", depends_on=[parent])
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken)):
        wait_for(job_id, other)
    assert (state(job_id), look(job_id).pending) == ("blocked", 1)


def test_a_job_is_let_go_by_a_parent_that_has_just_ended(queue, session):
    parent, other = enqueue(queue), enqueue(queue, type="pong")
    job_id = enqueue(queue, type="pong", depends_on=[parent])
    taken = take_one(session, queue)
    with meanwhile(lambda: wait_for(job_id, parent, other)) as changed:
        finish(session, taken)
    assert changed.exception() is None
    assert (state(job_id), look(job_id).pending) == ("blocked", 1)


def test_a_change_that_meets_a_claim_is_told_that_the_job_runs(queue, session):
    parent, job_id = enqueue(queue, type="pong"), enqueue(queue)
    with meanwhile(lambda: wait_for(job_id, parent)) as changed:
        take_one(session, queue)
    assert isinstance(changed.exception(), IllegalMove)
    assert "running" in str(changed.exception())


def test_while_many_change_and_others_work_no_circle_closes_and_all_comes_to_its_end(queue):
    jobs = [enqueue(queue) for _ in range(24)]
    sessions = SessionFactory.create_batch(2)

    def change(seed):
        pick = random.Random(seed)  # noqa: S311
        for _ in range(40):
            with suppress(BadInput, IllegalMove):
                wait_for(pick.choice(jobs), *pick.sample(jobs, pick.randint(0, 3)))

    def work(session, rounds):
        for _ in range(rounds):
            got = claim(session_id=session.pk, queues=[queue.pk], offers={"ping": None}, limit=1).jobs
            finish(session, *got)

    together(*(lambda seed=seed: change(seed) for seed in range(3)), lambda: work(sessions[0], 10))
    work(sessions[1], 30)
    assert {state(job_id) for job_id in jobs} == {"completed"}
