"""A heartbeat: keeps the lease, passes progress on, and says what is to stop."""

from datetime import timedelta

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from apps.jobs import services
from apps.jobs.engine.heartbeat import Beat, Told, heartbeat
from apps.jobs.models import Progress
from apps.workers.engine.drain import drain
from apps.workers.models import Session
from tests.acts import enqueue, fall_silent, finish, take, take_one
from tests.jobs.looks import ANN, look, run

QUIET = Beat(alive=True, drain=False, cancel=frozenset(), lost=frozenset(), unknown=frozenset())


def beat(session, *held, **fields) -> Beat:
    return heartbeat(session_id=session.pk, held={one.job_id: one.fence for one in held}, **fields)


def pair(taken):
    return taken.job_id, taken.fence


def test_it_keeps_the_lease(queue, session):
    fall_silent(session)
    enqueue(queue)
    assert take(session, queue) == []
    before = timezone.now()
    assert beat(session) == QUIET
    session.refresh_from_db()
    assert session.lease_expires_at >= before + timedelta(seconds=session.lease_seconds) - timedelta(seconds=5)
    assert session.heartbeat_at >= before - timedelta(seconds=5)
    assert len(take(session, queue)) == 1


@pytest.mark.parametrize("how", ["fenced_at", "ended_at"])
def test_a_session_that_is_over_is_told_so_and_stays_over(session, how):
    Session.objects.update(**{how: timezone.now()})
    before = Session.objects.values().get()
    assert not beat(session).alive
    assert Session.objects.values().get() == before


def test_a_session_nobody_knows_is_told_so(db):
    assert not heartbeat(session_id=uuid7(), held={}).alive


def test_all_is_well_with_what_both_sides_know(queue, session):
    for _ in range(3):
        enqueue(queue)
    assert beat(session, *take(session, queue)) == QUIET


def test_a_cancel_request_is_told_at_every_beat_until_the_job_ends(queue, session):
    for _ in range(2):
        enqueue(queue)
    first, second = take(session, queue)
    services.cancel(job_id=first.job_id, actor=ANN)
    for _ in range(2):
        assert beat(session, first, second).cancel == {pair(first)}
    finish(session, first, outcome="cancelled")
    assert beat(session, second) == QUIET


def test_a_job_that_is_no_longer_its_own_is_lost(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    services.cancel(job_id=job_id, actor=ANN, force=True)
    answer = beat(session, taken)
    assert answer.lost == {pair(taken)}
    assert answer.alive


def test_a_job_it_does_not_know_it_holds_is_named_with_its_fence(queue, session):
    enqueue(queue)
    forgotten = take_one(session, queue)
    assert beat(session).unknown == {pair(forgotten)}


def test_an_old_fence_is_lost_and_the_new_one_unknown(queue, session):
    enqueue(queue)
    old = take_one(session, queue)
    finish(session, old, outcome="released")
    new = take_one(session, queue)
    answer = beat(session, old)
    assert answer.lost == {pair(old)}
    assert answer.unknown == {pair(new)}


def test_a_cancel_request_of_a_job_it_does_not_know_is_not_its_to_obey(queue, session):
    enqueue(queue)
    forgotten = take_one(session, queue)
    services.cancel(job_id=forgotten.job_id, actor=ANN)
    answer = beat(session)
    assert not answer.cancel
    assert answer.unknown == {pair(forgotten)}


def test_what_other_sessions_hold_is_none_of_its_business(queue, session):
    other = Session.objects.get(pk=session.pk)
    other.pk = uuid7()
    other._state.adding = True
    other.save()
    enqueue(queue)
    his = take_one(other, queue)
    assert beat(session) == QUIET
    assert beat(session, his).lost == {pair(his)}


def test_an_operators_wish_to_drain_is_told_until_it_is_taken_back(session):
    drain(worker_id=session.worker_id, drain=True)
    assert beat(session).drain
    assert beat(session).alive
    drain(worker_id=session.worker_id, drain=False)
    assert not beat(session).drain


def test_a_session_that_drains_says_so_once_and_for_all(queue, session):
    enqueue(queue)
    beat(session, draining=True)
    beat(session)
    session.refresh_from_db()
    assert session.draining
    assert take(session, queue) == []


def test_a_sample_is_kept_until_the_next_one(session):
    beat(session, sample='{"cpu": 0.5}')
    beat(session)
    session.refresh_from_db()
    assert session.sample == {"cpu": 0.5}


def test_progress_is_kept_beside_the_job_which_is_not_rewritten(queue, session):
    enqueue(queue)
    taken = take_one(session, queue)
    [[place]] = run("SELECT ctid FROM jobs_job_live")
    beat(session, taken, told=[Told(job_id=taken.job_id, done=1, total=4, stage="read", note="a.png")])
    one = Progress.objects.get()
    assert (one.job_id, one.stage, one.done, one.total, one.note) == (taken.job_id, "read", 1, 4, "a.png")
    beat(session, taken, told=[Told(job_id=taken.job_id, done=2)])
    one.refresh_from_db()
    assert (one.stage, one.done, one.total, one.note) == ("", 2, None, "")
    assert run("SELECT ctid FROM jobs_job_live") == [(place,)]


def test_progress_of_a_job_it_does_not_hold_is_not_kept(queue, session):
    enqueue(queue)
    taken = take_one(session, queue)
    finish(session, taken)
    beat(session, taken, told=[Told(job_id=taken.job_id, done=1), Told(job_id=uuid7(), done=1)])
    assert not Progress.objects.exists()


def test_progress_of_an_earlier_attempt_is_not_that_of_this_one(queue, session):
    job_id = enqueue(queue)
    old = take_one(session, queue)
    finish(session, old, outcome="released")
    take_one(session, queue)
    beat(session, old, told=[Told(job_id=job_id, done=99)])
    assert not Progress.objects.exists()


def test_a_fenced_session_tells_no_progress(queue, session):
    enqueue(queue)
    taken = take_one(session, queue)
    Session.objects.update(fenced_at=timezone.now())
    assert not beat(session, taken, told=[Told(job_id=taken.job_id, done=1)]).alive
    assert not Progress.objects.exists()
    assert look(taken.job_id).state == "running"
