"""Cancels that meet claims, by the thousand, and each other (case H23)."""

import pytest

from apps.errors import IllegalMove
from apps.jobs import services
from tests.acts import enqueue, finish, take
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, ledger, look, run
from tests.races.stage import together

pytestmark = pytest.mark.usefixtures("arena")
EACH = 200


def claim_all(session, queue, limit):
    """Claim until two looks find nothing; answers whom it got."""
    taken, in_vain = [], 0
    while in_vain < 2:
        got = take(session, queue, limit=limit)
        in_vain = 0 if got else in_vain + 1
        taken += got
    return taken


def states(queue):
    return dict(run("SELECT state, count(*) FROM jobs_job WHERE queue_id = %s GROUP BY state", [queue.pk]))


@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=pytest.mark.chaos)])
def test_of_many_cancelled_twice_at_the_moment_of_their_claim_every_answer_is_true(rounds, queue):
    for _ in range(rounds):
        cancel_twice_and_claim(queue)
    assert states(queue) == {"cancelled": rounds * EACH}


def cancel_twice_and_claim(queue):
    jobs = [one.job_id for one in services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * EACH).jobs]
    session = SessionFactory.create(concurrency=EACH)
    first, second, taken = together(
        lambda: [_answer(job_id) for job_id in jobs],
        lambda: [_answer(job_id) for job_id in jobs[::-1]],
        lambda: claim_all(session, queue, limit=1),
    )
    runs = {one.job_id for one in taken}
    for job_id, *answers in zip(jobs, first, second[::-1], strict=True):
        # one of two who cancel what waits is told that it has been; both are told of what runs
        assert sorted(answers) == (["cancelling"] * 2 if job_id in runs else ["cancelled", "refused"])
    finish(session, *taken)
    assert {len(ledger(job_id)) for job_id in jobs if job_id not in runs} <= {0}


def _answer(job_id):
    try:
        done = services.cancel(job_id=job_id, actor=ANN)
    except IllegalMove as refusal:
        return "refused" if "cancelled" in str(refusal) else str(refusal)
    return "cancelling" if done.cancelling else done.state


def test_ten_thousand_are_cancelled_while_two_claim_and_each_is_one_or_the_other(queue):
    for _ in range(10):
        services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 1000)
    sessions = SessionFactory.create_batch(2, concurrency=10_000)

    def work(session):
        taken, in_vain = [], 0
        while in_vain < 2:
            got = take(session, queue, limit=50)
            in_vain = 0 if got else in_vain + 1
            finish(session, *got)
            taken += [one.job_id for one in got]
        return taken

    def purge_in_full_swing():
        while "completed" not in states(queue):
            pass
        return services.purge(queue=queue, actor=ANN)

    cancelled, *done = together(purge_in_full_swing, *(lambda s=session: work(s) for session in sessions))
    cancelled += services.purge(queue=queue, actor=ANN)  # whom the last claims had in hand when the first one came by
    ran = [job_id for some in done for job_id in some]
    assert len(set(ran)) == len(ran)
    assert states(queue) == {"completed": len(ran), "cancelled": cancelled}
    assert cancelled + len(ran) == 10_000


@pytest.mark.parametrize("rule", ["cancel", "run"])
def test_three_children_of_a_job_that_is_cancelled_twice_at_once_follow_their_rule_once(rule, queue):
    parent = enqueue(queue)
    children = [enqueue(queue, depends_on=[parent], on_parent_failure=rule) for _ in range(3)]
    together(lambda: _answer(parent), lambda: _answer(parent))
    expected = "cancelled" if rule == "cancel" else "queued"
    assert [(look(child).state, look(child).pending) for child in children] == [(expected, 0)] * 3
