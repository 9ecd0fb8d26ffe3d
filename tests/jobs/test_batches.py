"""Batches: how far they are, what follows them, their cancel, and calls that are sifted."""

from typing import Any
from uuid import uuid4

import pytest

from apps.audit.models import Entry
from apps.errors import BadInput, IllegalMove
from apps.jobs import services
from apps.jobs.engine.complete_due import complete_due
from apps.jobs.engine.pause import pause
from apps.jobs.engine.ready import NOWHERE
from apps.jobs.models import Batch, Job
from apps.jobs.selectors.batches import progress_of
from apps.jobs.serializers.bodies import AfterFields, JobFields
from apps.jobs.services import complete
from apps.jobs.services.batch import NOT_AFTER
from apps.queues.models import RetryPolicy
from tests.acts import enqueue, fall_silent, finish, take, take_one
from tests.factories import RetryPolicyFactory
from tests.jobs.looks import ANN, look, run, state
from tests.jobs.schedules import said
from tests.jobs.workflows import begin

AFTER = {"type": "publish", "payload": {"album": 7}}


def submit(queue, count=3, **fields):
    return services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * count, **fields).batch


def followers():
    return list(Job.objects.filter(type="publish"))


def again(batch):
    return Batch.objects.get(pk=batch.pk)


# How far.


def test_a_batch_tells_its_jobs_by_state_how_far_it_is_and_how_long_it_will_take(queue, session):
    batch = submit(queue, 4)
    far = progress_of(batch)
    assert (far.counts, far.left, far.percent, far.finished_at, far.remaining_seconds) == (
        {"queued": 4},
        4,
        0.0,
        None,
        None,
    )
    run("UPDATE jobs_batch SET created_at = created_at - interval '30 s'")
    finish(session, *take(session, queue, limit=1))
    finish(session, *take(session, queue, limit=1), outcome="permanent_error")
    take_one(session, queue)
    far = progress_of(again(batch))
    assert far.counts == {"completed": 1, "dead_letter": 1, "running": 1, "queued": 1}
    assert (far.percent, round(far.elapsed_seconds), round(far.remaining_seconds or 0)) == (50.0, 30, 30)


def test_one_that_has_ended_says_when(queue, session):
    batch = submit(queue, 2)
    finish(session, *take(session, queue))
    far = progress_of(batch)
    last = Job.objects.latest("finished_at").finished_at
    assert (far.percent, far.left, far.finished_at, far.remaining_seconds) == (100.0, 0, last, 0.0)


def test_what_was_pruned_counts_as_ended(queue, session):
    batch = submit(queue, 2)
    finish(session, take_one(session, queue))
    run("SELECT set_config('fencepost.guard', 'off', true)")
    run("DELETE FROM jobs_job WHERE state = 'completed'")
    assert (progress_of(batch).percent, progress_of(batch).counts) == (50.0, {"queued": 1})


def test_a_job_that_a_unique_key_found_is_not_of_the_batch(queue):
    enqueue(queue, unique_key="k")
    batch = services.submit_batch(queue=queue, jobs=[{"type": "ping"}, {"type": "ping", "unique_key": "k"}]).batch
    assert (batch.size, progress_of(batch).counts) == (1, {"queued": 1})


# What follows.


def test_the_job_that_follows_is_made_once_when_all_have_ended_and_is_told_how(queue, session):
    batch = submit(queue, 3, on_complete={**AFTER, "priority": 3, "labels": {"a": "b"}})
    for outcome in ("success", "permanent_error"):
        finish(session, take_one(session, queue), outcome=outcome)
        assert services.complete_batches() == 0
    services.cancel(job_id=Job.objects.get(batch_id=batch.pk, state="queued").pk, actor=ANN)
    assert [services.complete_batches(), services.complete_batches()] == [1, 0]
    [follower] = followers()
    told = {"id": str(batch.pk), "size": 3, "completed": 1, "dead_letter": 1, "cancelled": 1}
    assert follower.payload == {"album": 7, "batch": told}
    assert (follower.state, follower.priority, follower.labels, follower.batch_id) == ("queued", 3, {"a": "b"}, None)
    assert again(batch).on_complete_job == follower.pk
    assert again(batch).completed_at is not None
    assert said("batch.completed") == [{"job": str(follower.pk), **told}]


def test_a_replay_after_the_end_makes_no_second_one(queue, session):
    batch = submit(queue, 1, on_complete=AFTER)
    taken = take_one(session, queue)
    finish(session, taken, outcome="permanent_error")
    services.complete_batches()
    services.replay(job_id=taken.job_id, actor=ANN)
    finish(session, take_one(session, queue))
    assert services.complete_batches() == 0
    assert (len(followers()), progress_of(batch).counts) == (1, {"completed": 1})


def test_a_batch_without_one_is_never_looked_at(queue, session):
    batch = submit(queue, 1)
    finish(session, take_one(session, queue))
    assert services.complete_batches() == 0
    assert again(batch).completed_at is None


def test_a_batch_of_nothing_new_is_followed_at_once(queue):
    enqueue(queue, unique_key="k")
    services.submit_batch(queue=queue, jobs=[{"type": "ping", "unique_key": "k"}], on_complete=AFTER)
    assert services.complete_batches() == 1
    assert followers()[0].payload["batch"]["size"] == 0


def test_a_turn_looks_at_no_batch_twice(queue, session, monkeypatch):
    """However many are open before those that have ended: each is found after the last."""
    waits, *ended = [submit(queue, 1, on_complete=AFTER) for _ in range(4)]
    pause(ids=[Job.objects.get(batch_id=waits.pk).pk])
    finish(session, *take(session, queue))
    afters = []

    def look_after(*, after):
        afters.append(after)
        return complete_due(after=after)

    monkeypatch.setattr(complete, "complete_due", look_after)
    assert services.complete_batches() == 3
    assert afters == [NOWHERE, *(one.pk for one in ended)]
    assert services.complete_batches() == 0


def test_what_cannot_follow_any_more_is_told_and_holds_up_no_other(queue, session):
    policy = RetryPolicyFactory.create(project=queue.project, name="patient")
    spoilt = submit(queue, 1, on_complete={**AFTER, "retry_policy": "patient"})
    fine = submit(queue, 1, on_complete=AFTER)
    finish(session, *take(session, queue))
    RetryPolicy.objects.filter(pk=policy.pk).delete()
    assert services.complete_batches() == 2
    assert [again(one).on_complete_job is not None for one in (spoilt, fine)] == [False, True]
    assert said("batch.unfollowed")[0]["id"] == str(spoilt.pk)


def test_a_follower_keeps_the_policy_it_named_by_its_id(queue, session):
    policy = RetryPolicyFactory.create(project=queue.project, name="patient")
    submit(queue, 1, on_complete={**AFTER, "retry_policy": "patient"})
    RetryPolicy.objects.filter(pk=policy.pk).update(name="other")
    finish(session, take_one(session, queue))
    services.complete_batches()
    assert followers()[0].retry_policy_id == policy.pk


@pytest.mark.parametrize(
    ("asked", "pointer"),
    [
        ({}, "type"),
        ({"type": "x", "depends_on": []}, "depends_on"),
        ({"type": "x", "unique_key": "k"}, "unique_key"),
        ({"type": "x", "run_at": "2027-01-01T00:00:00Z"}, "run_at"),
        ({"type": "x", "payload": [1]}, "payload"),
        ({"type": "x", "payload": {"batch": 1}}, "payload/batch"),
        ({"type": "x", "priority": 5000}, "priority"),
        ({"type": "x", "nonsense": 1}, "nonsense"),
        ({"type": "x", "retry_policy": "none"}, "retry_policy"),
        ({"type": "x", "required_worker": "press-1"}, "required_worker"),
        ({"type": "x", "placement": "job"}, "placement"),
    ],
)
def test_faults_of_the_follower_are_pointed_at(queue, asked, pointer):
    with pytest.raises(BadInput) as error:
        submit(queue, on_complete=asked)
    assert [fault.pointer for fault in error.value.errors] == [f"#/on_complete/{pointer}"]
    assert not Batch.objects.exists()


def test_a_follower_may_be_all_that_it_is_told_to_be_and_nothing_else():
    assert set(AfterFields().fields) == set(JobFields().fields) - set(NOT_AFTER)


# Cancel.


def test_a_cancel_ends_what_waits_asks_what_runs_and_leaves_the_rest(queue, session):
    batch, other = submit(queue, 3, on_complete=AFTER), enqueue(queue)
    done, runs = take(session, queue, limit=1) + take(session, queue, limit=1)
    finish(session, done)
    services.cancel_batch(batch=batch, actor=ANN)
    assert progress_of(batch).counts == {"completed": 1, "running": 1, "cancelled": 1}
    assert state(other) == "queued"
    assert services.complete_batches() == 0
    finish(session, runs)
    assert services.complete_batches() == 1
    entry = Entry.objects.get(action="batch.cancel")
    assert (entry.before, entry.after) == ({"live": 2}, {"cancelled": 1, "cancelling": 1, "force": False})
    with pytest.raises(IllegalMove):
        services.cancel_batch(batch=batch, actor=ANN)


def test_by_force_what_runs_is_ended_too(queue, session):
    batch = submit(queue, 2)
    taken = take_one(session, queue)
    services.cancel_batch(batch=batch, actor=ANN, force=True)
    assert progress_of(batch).counts == {"cancelled": 2}
    assert finish(session, taken) == []


# Sifted.


def test_jobs_at_fault_are_left_out_and_the_others_made(queue):
    parent = enqueue(queue)
    jobs: list[dict[str, Any]] = [
        {"type": "ping"},
        {"type": "ping", "priority": 5000},
        {"type": "ping", "depends_on": [parent]},
        {"type": "ping", "depends_on": [uuid4()]},
        {"type": "ping", "nonsense": 1},
        {"type": "ping", "workflow": uuid4()},
        {"type": "ping", "workflow": begin(queue, {"a": []}).pk},
    ]
    done = services.sift_batch(queue=queue, jobs=jobs)
    assert list(done.jobs) == [0, 2, 6]
    assert {place: [fault.pointer for fault in error.errors] for place, error in done.rejected.items()} == {
        1: ["#/jobs/1/priority"],
        3: ["#/jobs/3/depends_on/0"],
        4: ["#/jobs/4/nonsense"],
        5: ["#/jobs/5/workflow"],
    }
    assert done.batch is not None
    assert done.batch.size == 3
    assert {look(one.job_id).batch_id for one in done.jobs.values()} == {done.batch.pk}


def test_a_worker_that_is_away_and_a_workflow_that_was_cancelled_are_faults_of_their_jobs_alone(queue, session):
    cancelled, fine = begin(queue, {"a": []}), begin(queue, {"a": []})
    services.cancel_workflow(workflow=cancelled, actor=ANN)
    worker = session.worker.uid
    fall_silent(session)
    jobs: list[dict[str, Any]] = [
        {"type": "ping", "required_worker": worker},
        {"type": "ping", "workflow": fine.pk},
        {"type": "ping", "workflow": cancelled.pk},
        {"type": "ping", "workflow": cancelled.pk},
        {"type": "ping", "workflow": uuid4()},
    ]
    done = services.sift_batch(queue=queue, jobs=jobs)
    assert list(done.jobs) == [1]
    assert {place: (error.code, [one.pointer for one in error.errors]) for place, error in done.rejected.items()} == {
        0: ("worker_unavailable", ["#/jobs/0/required_worker"]),
        2: ("illegal_move", ["#/jobs/2/workflow"]),
        3: ("illegal_move", ["#/jobs/3/workflow"]),
        4: ("bad_input", ["#/jobs/4/workflow"]),
    }
    with pytest.raises(IllegalMove) as whole:
        services.submit_batch(queue=queue, jobs=jobs[1:4])
    assert [one.pointer for one in whole.value.errors] == ["#/jobs/1/workflow", "#/jobs/2/workflow"]


def test_where_all_are_at_fault_there_is_no_batch(queue):
    done = services.sift_batch(queue=queue, jobs=[{}, {"type": "x", "depends_on": [uuid4()]}], on_complete=AFTER)
    assert (done.batch, done.jobs, list(done.rejected)) == (None, {}, [0, 1])
    assert not Batch.objects.exists()
