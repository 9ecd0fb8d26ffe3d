"""Pause: a queue, a job type of a project, one job; by hand and until a time."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import Entry, Outbox
from apps.audit.relay import relay
from apps.audit.tail import read_events
from apps.errors import BadInput
from apps.jobs import services
from apps.jobs.engine.claim import claim
from apps.jobs.engine.promote import promote
from apps.queues import services as queues
from apps.queues.models import PausedType, Queue
from tests.acts import enqueue, finish, make_due, take, take_one
from tests.factories import ProjectFactory, QueueFactory
from tests.jobs.looks import ANN, look, order, run, state, told_of

BOTH = {"ping": None, "pong": None}


def pause(job_id, **fields):
    services.pause_job(job_id=job_id, actor=ANN, **fields)


def resume(job_id):
    services.resume_job(job_id=job_id, actor=ANN)


def pause_type(queue, type="ping", **fields):
    return queues.pause_type(project=queue.project, type=type, actor=ANN, **fields)


def resume_type(queue, type="ping"):
    return services.resume_type(project=queue.project, type=type, actor=ANN)


def entries(target):
    return list(Entry.objects.filter(target_id=str(target)).order_by("id").values_list("action", flat=True))


def facts(kind):
    return [fact.data for fact in Outbox.objects.filter(kind=kind).order_by("id")]


def let_time_pass():
    """Every end of a pause has come."""
    for table in ("queues_queue", "queues_pausedtype"):
        run(f"UPDATE {table} SET paused_until = clock_timestamp() - interval '1 second' WHERE paused_until IS NOT NULL")


# One job


def test_a_paused_job_is_passed_by_and_goes_on_where_it_stood(queue, session):
    first, second, third = (enqueue(queue) for _ in range(3))
    pause(first, reason="not yet")
    assert take_one(session, queue).job_id == second
    resume(first)
    assert (look(first).state, look(first).resume_state) == ("queued", None)
    assert order(session, queue) == [first, third]
    assert entries(first) == ["job.pause", "job.resume"]
    assert [entry.after for entry in Entry.objects.filter(target_id=str(first)).order_by("id")] == [
        {"state": "paused", "reason": "not yet"},
        {"state": "queued"},
    ]
    assert told_of(first)[:3] == ["job.enqueued", "job.paused", "job.resumed"]


def test_a_paused_job_is_not_promoted_and_queues_at_once_if_its_time_has_come(queue):
    job_id = enqueue(queue, delay_ms=60_000)
    pause(job_id)
    assert look(job_id).resume_state == "scheduled"
    resume(job_id)
    assert state(job_id) == "scheduled"
    pause(job_id)
    make_due(job_id)
    assert promote(limit=10) == []
    resume(job_id)
    assert state(job_id) == "queued"


def test_a_retry_that_is_paused_waits_on(queue, session):
    job_id = enqueue(queue)
    finish(session, take_one(session, queue), outcome="retryable_error", delay_ms=60_000)
    pause(job_id)
    resume(job_id)
    assert state(job_id) == "retry_wait"


def test_parents_that_end_meanwhile_count(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    pause(child)
    assert (look(child).resume_state, look(child).pending) == ("blocked", 1)
    finish(session, take_one(session, queue))
    assert (look(child).state, look(child).resume_state, look(child).pending) == ("paused", "queued", 0)
    resume(child)
    assert order(session, queue) == [child]


def test_a_paused_child_ends_with_a_parent_that_fails(queue, session):
    child = enqueue(queue, depends_on=[enqueue(queue)])
    pause(child)
    finish(session, take_one(session, queue), outcome="permanent_error")
    assert state(child) == "cancelled"


def test_a_paused_child_waits_again_for_a_parent_that_is_replayed(queue, session):
    dead, other = enqueue(queue), enqueue(queue)
    child = enqueue(queue, depends_on=[dead, other], on_parent_failure="run")
    pause(child)
    finish(session, take_one(session, queue), outcome="permanent_error")
    assert look(child).pending == 1
    services.replay(job_id=dead, actor=ANN)
    assert (look(child).pending, look(child).resume_state) == (2, "blocked")


def test_a_paused_job_is_cancelled(queue):
    job_id = enqueue(queue)
    pause(job_id)
    assert services.cancel(job_id=job_id, actor=ANN).state == "cancelled" == state(job_id)


def test_a_paused_job_paused_again_is_left_and_not_written_down(queue):
    job_id = enqueue(queue)
    pause(job_id)
    pause(job_id)
    assert entries(job_id) == ["job.pause"]


# A job type of a project


def test_a_paused_type_is_passed_by_in_every_queue_of_its_project_and_in_no_other(queue, session):
    beside, elsewhere = QueueFactory.create(project=queue.project), QueueFactory.create(project=ProjectFactory.create())
    three = [queue, beside, elsewhere]
    pings, pongs = [enqueue(one) for one in three], [enqueue(one, type="pong") for one in three]
    pause_type(queue)
    ids = [one.pk for one in three]
    taken = claim(session_id=session.pk, queues=ids, offers=BOTH, limit=10).jobs
    assert {one.job_id for one in taken} == {*pongs, pings[2]}
    assert resume_type(queue)
    taken = claim(session_id=session.pk, queues=ids, offers=BOTH, limit=10).jobs
    assert {one.job_id for one in taken} == set(pings[:2])


def test_a_type_is_paused_once_and_its_reason_and_end_may_change(queue):
    until = timezone.now() + timedelta(hours=1)
    first = pause_type(queue, reason="wrong model")
    again = pause_type(queue, reason="still", until=until)
    assert (again.pk, again.paused_at) == (first.pk, first.paused_at)
    assert (again.pause_reason, again.paused_until, again.paused_by) == ("still", until, ANN.name)
    assert resume_type(queue)
    assert not resume_type(queue)
    target = f"{queue.project_id}/ping"
    assert entries(target) == ["type.pause", "type.pause", "type.resume"]
    changed = Entry.objects.filter(target_id=target, action="type.pause").latest("id")
    assert changed.before
    assert changed.after
    assert (changed.before["pause_reason"], changed.after["pause_reason"]) == ("wrong model", "still")
    assert [fact["type"] for fact in facts("type.paused") + facts("type.resumed")] == ["ping"] * 3


@pytest.mark.parametrize("type", ["", "x" * 129, "a\x00b"])
def test_what_is_no_type_is_not_paused(type, queue):
    with pytest.raises(BadInput):
        pause_type(queue, type)


def test_nothing_is_paused_until_a_time_that_has_passed(queue):
    gone = timezone.now() - timedelta(seconds=1)
    with pytest.raises(BadInput):
        pause_type(queue, until=gone)
    with pytest.raises(BadInput):
        queues.pause(queue=queue, actor=ANN, until=gone)


# Ends


@pytest.mark.parametrize("what", ["queue", "type"])
def test_a_pause_ends_by_itself_for_the_very_next_claim(what, queue, session):
    job_id = enqueue(queue)
    until = timezone.now() + timedelta(hours=1)
    if what == "queue":
        queues.pause(queue=queue, actor=ANN, until=until)
    else:
        pause_type(queue, until=until)
    assert take(session, queue) == []
    let_time_pass()
    assert take_one(session, queue).job_id == job_id


def test_what_has_ended_by_itself_is_said_recorded_and_forgotten(queue):
    until = timezone.now() + timedelta(hours=1)
    beside = QueueFactory.create(project=queue.project)
    queues.pause(queue=queue, actor=ANN, until=until, reason="lunch")
    pause_type(queue, until=until)
    pause_type(queue, "pong")  # without an end
    assert queues.end_pauses() == set()
    let_time_pass()
    assert queues.end_pauses() == {queue.pk, beside.pk}
    assert queues.end_pauses() == set()
    held = Queue.objects.get(pk=queue.pk)
    assert (held.paused_at, held.paused_until, held.paused_by, held.pause_reason) == (None, None, "", "")
    assert [one.type for one in PausedType.objects.all()] == ["pong"]
    assert facts("queue.resumed") == [{"by": "system"}]
    assert facts("type.resumed") == [{"by": "system", "type": "ping"}]
    assert entries(queue.pk) == ["queue.pause", "queue.resume"]
    ended = Entry.objects.get(target_id=str(queue.pk), action="queue.resume")
    assert ended.before
    assert (ended.actor, ended.before["pause_reason"]) == ("system", "lunch")
    assert entries(f"{queue.project_id}/ping") == ["type.pause", "type.resume"]


def test_who_pauses_is_told_to_whoever_reads_the_log(queue):
    queues.pause(queue=queue, actor=ANN, reason="the printer burns")
    queues.resume(queue=queue, actor=ANN)
    relay()
    frames = [
        frame for frame in read_events(project_id=queue.project_id, after=0, limit=10) if frame.kind[:6] == "queue."
    ]
    assert [(frame.kind, frame.seq, frame.queue_id) for frame in frames] == [
        ("queue.paused", 1, queue.pk),
        ("queue.resumed", 2, queue.pk),
    ]
    assert json.loads(str(frames[0].data)) == {"by": ANN.name, "reason": "the printer burns", "until": None}
