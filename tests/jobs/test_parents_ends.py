"""However a parent ends, its children have their state at once, with a reason; none waits for ever."""

import pytest

from apps.jobs import services
from tests.acts import enqueue, finish, take_one
from tests.jobs.looks import (
    ANN,
    come_round,
    fail_for_good,
    let_lapse,
    look,
    overrun,
    reap_all,
    reason,
    run,
    state,
)  # fmt: skip

# Queue and session are given; the parent is the only job that can be taken.


def succeeds(queue, session, parent):
    finish(session, take_one(session, queue))


def dies_after_three_tries(queue, session, parent):
    for _ in range(3):
        finish(session, take_one(session, queue), outcome="retryable_error")
        come_round(parent)


def fails_for_good(queue, session, parent):
    fail_for_good(session, queue, parent)


def is_cancelled_while_queued(queue, session, parent):
    services.cancel(job_id=parent, actor=ANN)


def is_cancelled_while_it_runs(queue, session, parent):
    taken = take_one(session, queue)
    services.cancel(job_id=parent, actor=ANN)
    finish(session, taken, outcome="cancelled")


def succeeds_after_a_cancel_request(queue, session, parent):
    taken = take_one(session, queue)
    services.cancel(job_id=parent, actor=ANN)
    finish(session, taken)


def is_cancelled_by_force(queue, session, parent):
    take_one(session, queue)
    services.cancel(job_id=parent, actor=ANN, force=True)


def times_out_at_its_worker(queue, session, parent):
    for _ in range(3):
        finish(session, take_one(session, queue), outcome="timeout")
        come_round(parent)


def times_out_under_the_reaper(queue, session, parent):
    for _ in range(3):
        take_one(session, queue)
        overrun(parent, 3600)
        reap_all()
        come_round(parent)


def loses_its_worker(queue, session, parent):
    take_one(session, queue)
    let_lapse(session)
    reap_all()


def crashes(queue, session, parent):
    finish(session, take_one(session, queue), outcome="crashed")


def is_purged(queue, session, parent):
    services.purge(queue=queue, actor=ANN)


def snoozes_too_often(queue, session, parent):
    run("UPDATE jobs_job_live SET max_snoozes = 2")
    for _ in range(3):
        finish(session, take_one(session, queue), outcome="snoozed", delay_ms=0)
        come_round(parent)


ENDS = {
    succeeds: "completed",
    dies_after_three_tries: "dead_letter",
    fails_for_good: "dead_letter",
    is_cancelled_while_queued: "cancelled",
    is_cancelled_while_it_runs: "cancelled",
    succeeds_after_a_cancel_request: "cancelled",
    is_cancelled_by_force: "cancelled",
    times_out_at_its_worker: "dead_letter",
    times_out_under_the_reaper: "dead_letter",
    loses_its_worker: "dead_letter",
    crashes: "dead_letter",
    is_purged: "cancelled",
    snoozes_too_often: "dead_letter",
}


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_what_becomes_of_those_who_wait_for_a_parent_that(queue, session, end):
    parent = enqueue(queue, max_attempts=3, max_losses=1)
    other = enqueue(queue, delay_ms=3_600_000)
    obedient, anyway = (
        enqueue(queue, type="pong", depends_on=[parent], on_parent_failure=policy) for policy in ("cancel", "run")
    )
    grandchild = enqueue(queue, type="pong", depends_on=[obedient])
    of_two = enqueue(queue, type="pong", depends_on=[parent, other])
    of_two_anyway = enqueue(queue, type="pong", depends_on=[parent, other], on_parent_failure="run")
    end(queue, session, parent)
    assert state(parent) == ENDS[end]
    if ENDS[end] == "completed":
        expected = ["queued", "queued", "blocked", "blocked", "blocked"]
    else:
        expected = ["cancelled", "cancelled" if end is is_purged else "queued", "cancelled", "cancelled", "blocked"]
        assert {reason(job_id) for job_id in (obedient, grandchild, of_two)} == {"parent_failed"}
    assert [state(job_id) for job_id in (obedient, anyway, grandchild, of_two, of_two_anyway)] == expected
    assert look(of_two_anyway).pending == 1
