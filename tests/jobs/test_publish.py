"""What a stage of a workflow publishes is of the workflow, and is made in it once."""

import hashlib

import pytest

from apps.jobs import services
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.engine.report import Ended, report
from apps.jobs.models import Job, Publication
from tests.acts import enqueue, finish, take, take_one
from tests.jobs.looks import ANN, let_lapse, look, reap_all, run, state
from tests.jobs.workflows import begin, step

ONE: dict[str, list[str]] = {"a": []}
TWO: dict[str, list[str]] = {"a": [], "b": []}


def new(queue, payload='{"n":1}', **fields):
    return NewJob(queue_id=queue.pk, type="after", payload=payload, **fields)


def publish(session, queue, workflow, *jobs, outcome="success"):
    """The next job of the workflow ends, with these."""
    return finish(session, take_one(session, queue), outcome=outcome, follow=jobs, workflow_id=workflow.pk)


def published():
    return list(Job.objects.filter(type="after").order_by("id"))


def test_it_is_of_the_workflow_and_inherits_from_the_stage(queue, session):
    film = begin(queue, ONE, priority=7)
    run("UPDATE jobs_job_live SET generation = 3")
    first, second = new(queue), new(queue, '{"n":2}', priority=-1)
    publish(session, queue, film, first, second)
    made = look(first.id)
    assert (made.workflow_id, made.generation, made.priority, made.state) == (film.pk, 3, 7, "queued")
    assert look(second.id).priority == -1


def test_the_key_is_of_type_and_payload_however_that_was_written(queue, session):
    film = begin(queue, ONE)
    job = new(queue, '{ "b": [1,2],\n"a":"x" }')
    publish(session, queue, film, job, new(queue, '{"a":"x","b":[1, 2]}'))
    assert [one.pk for one in published()] == [job.id]
    text = '{"a": "x", "b": [1, 2]}'
    [kept] = Publication.objects.all()
    assert kept.key == hashlib.sha256(b"after\0" + text.encode()).hexdigest()
    assert (kept.workflow_id, kept.job_id) == (film.pk, job.id)


def test_two_stages_that_publish_the_same_make_it_once(queue, session):
    film = begin(queue, TWO)
    first, other = new(queue), new(queue, '{"n":2}')
    publish(session, queue, film, first)
    publish(session, queue, film, new(queue), other)
    assert [one.pk for one in published()] == [first.id, other.id]


def test_both_in_one_batch_of_reports_make_it_once(queue, session):
    film = begin(queue, TWO)
    ended = [
        Ended(one.job_id, one.fence, session.pk, "success", follow=(new(queue),), workflow_id=film.pk)
        for one in (take_one(session, queue), take_one(session, queue))
    ]
    report(ended=ended)
    assert len(published()) == 1


def test_another_workflow_and_no_workflow_at_all_publish_for_themselves(queue, session):
    film, other = begin(queue, ONE), begin(queue, ONE)
    publish(session, queue, film, new(queue))
    publish(session, queue, other, new(queue))
    for _ in range(2):
        alone = enqueue(queue, priority=1000)
        taken = take_one(session, queue)
        assert taken.job_id == alone
        finish(session, taken, follow=(new(queue),))
    assert [one.workflow_id for one in published()] == [film.pk, other.pk, None, None]


def test_a_stage_that_is_retried_after_it_died_publishes_nothing_twice(queue, session):
    """It publishes only with a success; what it published then, a later stage or generation does not make again."""
    film = begin(queue, ONE)
    publish(session, queue, film, new(queue), outcome="permanent_error")
    assert published() == []
    services.retry_workflow(workflow=film, actor=ANN)
    job = new(queue)
    [done] = publish(session, queue, film, job)
    again = services.submit(queue=queue, type="ping", workflow=film.pk, priority=1000)
    publish(session, queue, film, new(queue))
    assert (state(done.job_id), state(again.pk)) == ("completed", "completed")
    assert [one.pk for one in published()] == [job.id]


def test_what_was_published_and_died_is_retried_not_made_again(queue, session):
    film = begin(queue, TWO)
    publish(session, queue, film, new(queue, priority=1000))
    finish(session, take_one_of(session, queue, "after"), outcome="permanent_error")
    publish(session, queue, film, new(queue))
    services.retry_workflow(workflow=film, actor=ANN)
    assert [(one.state, one.generation) for one in published()] == [("queued", 2)]


def take_one_of(session, queue, kind):
    [taken] = take(session, queue, limit=1, offers={kind: None})
    return taken


def test_a_stage_that_lost_its_fence_publishes_nothing(queue, session):
    film = begin(queue, ONE)
    lost = take_one(session, queue)
    let_lapse(session)
    reap_all()
    assert finish(session, lost, follow=(new(queue),), workflow_id=film.pk) == []
    assert (published(), list(Publication.objects.all())) == ([], [])


@pytest.mark.parametrize("outcome", ["retryable_error", "permanent_error", "snoozed", "released", "cancelled"])
def test_no_other_end_publishes(queue, session, outcome):
    film = begin(queue, ONE)
    publish(session, queue, film, new(queue), outcome=outcome)
    assert (published(), list(Publication.objects.all())) == ([], [])


def test_what_is_published_in_a_paused_workflow_waits_for_the_resume(queue, session):
    film = begin(queue, ONE)
    taken = take_one(session, queue)
    services.pause_workflow(workflow=film, actor=ANN)
    job = new(queue)
    finish(session, taken, follow=(job,), workflow_id=film.pk)
    assert (state(job.id), look(job.id).resume_state) == ("paused", "queued")
    services.resume_workflow(workflow=film, actor=ANN)
    assert state(job.id) == "queued"


def test_nothing_is_published_in_a_cancelled_workflow(queue, session):
    film = begin(queue, ONE)
    taken = take_one(session, queue)
    services.cancel_workflow(workflow=film, actor=ANN)
    finish(session, taken, follow=(new(queue),), workflow_id=film.pk)
    assert (state(step(film, "a")), published()) == ("cancelled", [])
