"""The fence: whoever was declared dead cannot report on a job that has moved on without him."""

from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from apps.audit.models import Outbox
from apps.jobs.engine.report import Ended, Missing, report, report_missing
from apps.workers.engine.register import register
from apps.workers.models import Session
from tests.acts import enqueue, finish, take, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import come_round, ledger, let_lapse, look, reap_all, row, run, state

YEAR = 365 * 86_400 * 1_000_000


def ends(session, taken, outcome="success") -> Ended:
    return Ended(job_id=taken.job_id, fence=taken.fence, session_id=session.pk, outcome=outcome)


def ask_again(session, *ended) -> list[Missing]:
    return sorted(report_missing(ended=ended, session_id=session.pk), key=lambda one: one.fence)


def assert_nothing_of_it_remains(job_id: UUID, call):
    before = row(job_id), ledger(job_id), Outbox.objects.count()
    assert call() == []
    assert (row(job_id), ledger(job_id), Outbox.objects.count()) == before


def test_a_fence_tells_the_time_and_grows_with_every_claim(queue, session):
    job_id = enqueue(queue)
    [[now]] = run("SELECT (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint")
    first = take_one(session, queue)
    assert first.fence >= now
    finish(session, first, outcome="released")
    second = take_one(session, queue)
    assert second.job_id == job_id
    assert second.fence > first.fence


def test_it_grows_even_when_the_clock_is_behind(queue, session):
    job_id = enqueue(queue)
    [[ahead]] = run(
        "UPDATE jobs_job_live SET fence = (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint + %s"
        " WHERE id = %s RETURNING fence",
        [YEAR, job_id],
    )
    assert take_one(session, queue).fence == ahead + 1


def test_a_reaped_worker_cannot_finish_the_job_it_lost(queue, session):
    job_id = enqueue(queue)
    late = take_one(session, queue)
    let_lapse(session)
    reap_all()
    assert_nothing_of_it_remains(job_id, lambda: finish(session, late, result='"late"'))
    assert state(job_id) == "retry_wait"
    assert [one.outcome for one in ledger(job_id)] == ["lost"]


def test_nor_one_that_its_successor_runs(queue, session):
    job_id = enqueue(queue)
    late = take_one(session, queue)
    let_lapse(session)
    reap_all()
    come_round(job_id)
    successor = SessionFactory.create()
    taken = take_one(successor, queue)
    assert_nothing_of_it_remains(job_id, lambda: finish(session, late))
    finish(successor, taken, result='"mine"')
    assert_nothing_of_it_remains(job_id, lambda: finish(session, late))
    assert look(job_id).result == "mine"
    assert [one.outcome for one in ledger(job_id)] == ["lost", "success"]


@pytest.mark.parametrize("outcome", ["success", "retryable_error", "permanent_error", "timeout", "released", "snoozed"])
def test_no_outcome_passes_a_fence_that_is_not_the_jobs(queue, session, outcome):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    for fence in (taken.fence - 1, taken.fence + 1, 0):
        stale = Ended(job_id=job_id, fence=fence, session_id=session.pk, outcome=outcome)
        assert_nothing_of_it_remains(job_id, lambda stale=stale: report(ended=[stale]))
    assert state(job_id) == "running"


def test_the_right_fence_in_the_wrong_hands_moves_nothing(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    stranger = SessionFactory.create()
    assert_nothing_of_it_remains(job_id, lambda: finish(stranger, taken))


def test_a_session_that_took_a_job_twice_can_only_report_the_second_time(queue, session):
    job_id = enqueue(queue)
    first = take_one(session, queue)
    finish(session, first, outcome="released")
    second = take_one(session, queue)
    assert_nothing_of_it_remains(job_id, lambda: finish(session, first))
    assert len(finish(session, second)) == 1


def test_a_job_that_has_ended_ends_no_second_time(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    finish(session, taken)
    assert_nothing_of_it_remains(job_id, lambda: finish(session, taken, outcome="permanent_error"))


def test_a_job_nobody_knows_moves_nothing(session):
    assert report(ended=[Ended(job_id=uuid7(), fence=1, session_id=session.pk, outcome="success")]) == []


def test_one_fenced_report_does_not_hold_up_the_others_of_its_batch(queue, session):
    for _ in range(3):
        enqueue(queue)
    one, lost, other = sorted(take(session, queue), key=lambda taken: taken.job_id)
    run("UPDATE jobs_job_live SET fence = fence + 1 WHERE id = %s", [lost.job_id])
    assert {done.job_id for done in finish(session, one, lost, other)} == {one.job_id, other.job_id}
    assert state(lost.job_id) == "running"


def test_a_new_boot_fences_the_old_one_whose_jobs_go_to_the_next_sweep(queue):
    old, new = (
        register(uid="box-1", concurrency=4, lease_seconds=30, hostname="box", pid=pid).session_id for pid in (1, 2)
    )
    sessions = Session.objects.in_bulk([old, new])
    job_id = enqueue(queue)
    assert take(sessions[old], queue) == []
    taken = take_one(sessions[new], queue)
    newest = register(uid="box-1", concurrency=4, lease_seconds=30, hostname="box", pid=3)
    assert newest.fenced == 1
    assert [(done.job_id, done.outcome) for done in reap_all()] == [(job_id, "lost")]
    assert finish(sessions[new], taken) == []


def test_a_report_whose_answer_was_lost_finds_that_it_was_applied(queue, session):
    for _ in range(2):
        enqueue(queue)
    first, second = sorted(take(session, queue), key=lambda taken: taken.fence)
    finish(session, first)
    finish(session, second, outcome="retryable_error")
    again = ends(session, first), ends(session, second, "retryable_error")
    assert report(ended=again) == []
    assert [(one.fence, one.applied) for one in ask_again(session, *again)] == [
        (first.fence, True),
        (second.fence, True),
    ]
    session.refresh_from_db()
    assert session.fenced_writes == 0


def test_a_report_that_came_too_late_is_fenced_and_counted(queue, session):
    enqueue(queue)
    late = take_one(session, queue)
    let_lapse(session)
    reap_all()
    assert [one.applied for one in ask_again(session, ends(session, late))] == [False]
    assert [one.applied for one in ask_again(session, ends(session, late), ends(session, late, "timeout"))] == [
        False
    ] * 2
    session.refresh_from_db()
    assert session.fenced_writes == 3


@pytest.mark.parametrize("outcome", ["success", "released", "snoozed"])
def test_what_a_cancel_turned_into_cancelled_was_applied_all_the_same(queue, session, outcome):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    run("UPDATE jobs_job_live SET cancel_requested_at = clock_timestamp() WHERE id = %s", [job_id])
    finish(session, taken, outcome=outcome)
    assert [one.applied for one in ask_again(session, ends(session, taken, outcome))] == [True]


def test_another_sessions_entry_is_not_mine(queue, session):
    enqueue(queue)
    taken = take_one(session, queue)
    finish(session, taken)
    stranger = SessionFactory.create()
    assert [one.applied for one in ask_again(stranger, ends(stranger, taken))] == [False]


def test_an_entry_of_another_attempt_is_not_of_this_one(queue, session):
    enqueue(queue)
    first = take_one(session, queue)
    finish(session, first, outcome="released")
    second = take_one(session, queue)
    assert [one.applied for one in ask_again(session, ends(session, second, "released"))] == [False]
