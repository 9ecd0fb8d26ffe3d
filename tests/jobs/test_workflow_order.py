"""The order of a workflow's jobs among others, changed for all of them at once."""

import pytest

from apps.errors import IllegalMove
from apps.jobs import services
from tests.acts import enqueue, finish, take, take_one
from tests.factories import QueueFactory
from tests.jobs.looks import ANN, look, run
from tests.jobs.test_workflow_verbs import PAIR, act
from tests.jobs.workflows import again, begin, step, work


def test_a_priority_is_that_of_every_job_that_waits(queue, session):
    film = begin(queue)
    taken = take_one(session, queue)
    act("priority", film)
    assert [look(step(film, name)).priority for name in ("voice", "compositing", "script")] == [3, 3, 0]
    assert (taken.job_id, again(film).priority) == (step(film, "script"), 3)


def test_run_next_puts_the_whole_before_all_others_in_its_own_order(queue, session):
    enqueue(queue, priority=1000)
    film = begin(queue, {"a": [], "b": [], "c": ["a"], "d": []})
    services.reschedule(job_id=step(film, "d"), actor=ANN, delay_seconds=3600)
    act("run_next", film)
    assert work(session, queue) == ["a", "b", "c", "d", "?"]


def test_run_next_never_moves_what_is_urgent_back(queue, session):
    """In a queue that holds nothing else; what comes later, and is urgent too, comes later."""
    film = begin(queue, {"a": [], "b": []}, priority=5)
    before = {name: look(step(film, name)).rank for name in "ab"}
    act("run_next", film)
    assert all(look(step(film, name)).rank < rank for name, rank in before.items())
    enqueue(queue, priority=1)
    assert work(session, queue) == ["a", "b", "?"]


def test_run_next_counts_what_a_priority_is_worth_now(queue, session):
    """Not what it was worth when the job got its rank: one that was to run late stands further back."""
    film = begin(queue, {"a": []}, priority=5)
    services.reschedule(job_id=step(film, "a"), actor=ANN, delay_seconds=3600)
    act("run_next", film)
    enqueue(queue, priority=5)
    assert work(session, queue) == ["a", "?"]


@pytest.mark.parametrize(
    ("to", "expected"),
    [("top", "abwxyz"), ("up", "wabxyz"), ("down", "wxyzab"), ("bottom", "wxyzab")],
)
@pytest.mark.parametrize("room", [1, 1000])
def test_a_move_takes_the_group_past_others_and_closes_its_ranks(queue, session, to, expected, room):
    """In line: w x a y b z; ranks as close as they can be, or not."""
    film = begin(queue, {"a": [], "b": []})
    others = {name: enqueue(queue) for name in "wxyz"}
    line = [others["w"], others["x"], step(film, "a"), others["y"], step(film, "b"), others["z"]]
    for place, job_id in enumerate(line):
        run("UPDATE jobs_job_live SET rank = %s WHERE id = %s", [10**15 + room * place, job_id])
    services.move_workflow(workflow=film, actor=ANN, to=to)
    named = {job_id: name for name, job_id in others.items()} | {step(film, name): name for name in "ab"}
    order = []
    while taken := take(session, queue, limit=1):
        finish(session, *taken)
        order.append(named[taken[0].job_id])
    assert "".join(order) == expected


def test_a_move_happens_in_each_line_by_itself(queue, session):
    other = QueueFactory.create(project=queue.project)
    ahead = [enqueue(queue), enqueue(other)]
    jobs = [{"name": name, "queue": place.name, "type": "ping"} for name, place in (("a", queue), ("b", other))]
    film = services.submit_workflow(project=queue.project, jobs=jobs).workflow
    act("move", film)
    for place, name, before in ((queue, "a", ahead[0]), (other, "b", ahead[1])):
        assert [take(session, place, limit=1)[0].job_id for _ in range(2)] == [step(film, name), before]


@pytest.mark.parametrize("verb", ["move", "run_next"])
def test_what_waits_for_nothing_has_no_place(queue, session, verb):
    film = begin(queue, PAIR)
    work(session, queue)
    with pytest.raises(IllegalMove):
        act(verb, film)
