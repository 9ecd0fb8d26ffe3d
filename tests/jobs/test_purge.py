"""Purge: every queued job of a queue is cancelled, nothing is deleted and nothing else is touched."""

from apps.audit.models import Entry
from apps.jobs import services
from apps.jobs.engine.purge import purge
from apps.jobs.models import Job
from tests.acts import enqueue, finish, take_one
from tests.factories import QueueFactory
from tests.jobs.looks import ANN, reason, state, told


def test_what_is_queued_is_cancelled_and_says_why(queue):
    jobs = [enqueue(queue) for _ in range(3)]
    assert services.purge(queue=queue, actor=ANN) == 3
    assert {(state(job_id), reason(job_id)) for job_id in jobs} == {("cancelled", "purged")}
    [fact] = told("job.cancelled")
    assert (set(fact.job_ids), fact.data) == (set(jobs), {"reason": "purged"})


def test_what_runs_waits_or_has_ended_stays(queue, session):
    ended = enqueue(queue)
    finish(session, take_one(session, queue))
    dead = enqueue(queue)
    finish(session, take_one(session, queue), outcome="permanent_error")
    running = enqueue(queue)
    take_one(session, queue)
    waiting = enqueue(queue)
    finish(session, take_one(session, queue), outcome="retryable_error")
    scheduled = enqueue(queue, delay_ms=60_000)
    blocked = enqueue(queue, depends_on=[running])
    jobs = (ended, dead, running, waiting, scheduled, blocked)
    before = [state(job_id) for job_id in jobs]
    assert services.purge(queue=queue, actor=ANN) == 0
    assert [state(job_id) for job_id in jobs] == before


def test_other_queues_stay(queue):
    other = enqueue(QueueFactory.create(project=queue.project))
    enqueue(queue)
    assert services.purge(queue=queue, actor=ANN) == 1
    assert state(other) == "queued"


def test_children_of_what_was_purged_follow_their_policy(queue):
    parent = enqueue(queue)
    doomed = enqueue(queue, type="pong", depends_on=[parent])
    elsewhere = QueueFactory.create(project=queue.project)
    anyway = enqueue(elsewhere, depends_on=[parent], on_parent_failure="run")
    assert services.purge(queue=queue, actor=ANN) == 1
    assert (state(doomed), reason(doomed), state(anyway)) == ("cancelled", "parent_failed", "queued")


def test_a_child_that_a_purge_sets_free_in_its_own_queue_is_purged_too(queue):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent], on_parent_failure="run")
    assert services.purge(queue=queue, actor=ANN) == 2
    assert (state(child), reason(child)) == ("cancelled", "purged")


def test_it_goes_in_batches_and_is_one_entry(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 25)
    assert [purge(queue_id=queue.pk, limit=10) for _ in range(2)] == [10, 10]
    assert services.purge(queue=queue, actor=ANN) == 5
    assert Job.objects.filter(state="cancelled").count() == 25
    [entry] = Entry.objects.filter(action="queue.purge")
    assert entry.after == {"cancelled": 5}


def test_an_empty_queue_is_purged_too(queue):
    assert services.purge(queue=queue, actor=ANN) == 0
    assert Entry.objects.filter(action="queue.purge").count() == 1
