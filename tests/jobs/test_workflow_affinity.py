"""Workflows that are submitted to go to one worker, with what they publish; and those that have it alone."""

import pytest

from apps.errors import BadInput, WorkerUnavailable
from apps.jobs import services
from apps.jobs.engine.aim import FIRST_OF_WORKFLOW
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.models import Job, Workflow
from apps.workers.models import Reservation
from tests import acts
from tests.jobs.aims import aimed, ids, open_only, targets
from tests.jobs.looks import ANN, look


def begin(queue, *jobs, **fields):
    asked = jobs or ({"name": "a"}, {"name": "b", "depends_on": ["a"]})
    made = services.submit_workflow(
        project=queue.project, jobs=[{"queue": queue.name, "type": "ping", **one} for one in asked], **fields
    )
    return made.workflow, [one.placed.job_id for one in made.jobs]


def test_without_a_word_its_jobs_run_anywhere(queue):
    _, jobs = begin(queue)
    assert targets(*jobs) == [None, None]


def test_with_affinity_all_go_where_the_first_goes(queue, session, other):
    flow, [first, second] = begin(queue, affinity=True)
    assert targets(first, second) == [FIRST_OF_WORKFLOW] * 2
    acts.finish(session, *aimed(session, queue))
    assert aimed(other, queue) == []
    assert ids(aimed(session, queue)) == {second}


def test_a_job_of_it_may_say_that_it_runs_anywhere(queue, session):
    _, [bound, loose] = begin(queue, {"name": "a"}, {"name": "hook", "placement": "any"}, affinity=True)
    assert targets(bound, loose) == [FIRST_OF_WORKFLOW, None]


def test_it_goes_to_the_worker_that_it_requires(queue, session, other):
    flow, [first, second] = begin(queue, required_worker=session.worker.uid)
    assert targets(first, second) == [session.worker_id] * 2
    late = services.submit(queue=queue, type="ping", workflow=flow.pk, placement="dispatch").id
    assert targets(late) == [session.worker_id]
    assert aimed(other, queue) == []


def test_a_worker_that_it_cannot_go_to_is_refused(queue, session):
    with pytest.raises(BadInput) as refusal:
        begin(queue, required_worker="nobody")
    assert refusal.value.errors[0].pointer == "#/required_worker"
    acts.fall_silent(session)
    for more in ({}, {"dedicated": True}):
        with pytest.raises(WorkerUnavailable) as away:
            begin(queue, required_worker=session.worker.uid, **more)
        assert away.value.errors[0].pointer == "#/required_worker"
    assert not Workflow.objects.exists()


def test_a_job_that_follows_names_no_worker_of_its_own(queue, session):
    with pytest.raises(BadInput) as refusal:
        begin(queue, {"name": "a", "placement": "dispatch", "required_worker": session.worker.uid})
    assert refusal.value.errors[0].pointer == "#/jobs/0/required_worker"


def test_dedicated_it_waits_for_a_worker_of_its_own(queue, session, other):
    flow, [first, _] = begin(queue, dedicated=True, required_worker=session.worker.uid, actor=ANN)
    assert aimed(session, queue) == aimed(other, queue) == []
    services.settle_reservations()
    stranger = acts.enqueue(queue)
    assert ids(aimed(session, queue)) == {first}
    assert ids(aimed(other, queue)) == {stranger}
    assert Reservation.objects.get(workflow_id=flow.pk).worker_id == session.worker_id


def published(session, taken, queue, **fields):
    follow = (NewJob(queue_id=queue.pk, type="ping", **fields),)
    acts.finish(session, taken, follow=follow, workflow_id=taken.workflow_id)
    return follow[0].id


def test_what_a_stage_publishes_goes_where_the_stage_went(queue, session, other):
    flow, _ = begin(queue, {"name": "a"}, affinity=True)
    [taken] = aimed(session, queue)
    made = published(session, taken, queue)
    assert (look(made).placement, targets(made)) == ("dispatch", [session.worker_id])


def test_but_for_what_may_run_anywhere(queue, session):
    begin(queue, {"name": "a"}, affinity=True)
    [taken] = aimed(session, queue)
    assert targets(published(session, taken, queue, anywhere=True)) == [None]


def test_what_a_reserved_workflow_publishes_is_reserved_too(queue, session):
    flow, _ = begin(queue, {"name": "a"}, dedicated=True, actor=ANN)
    for _ in range(2):
        services.settle_reservations()
    [taken] = aimed(session, queue)
    made = published(session, taken, queue, anywhere=True)
    assert targets(made) == [Reservation.objects.get().pk]
    assert ids(aimed(session, queue)) == {made}


def test_what_joins_a_reserved_workflow_is_reserved_whatever_it_says(queue, session, other):
    flow, _ = begin(queue, dedicated=True, actor=ANN)
    late = services.submit(queue=queue, type="ping", workflow=flow.pk, placement="any").id
    assert targets(late) == [Reservation.objects.get().pk]
    assert open_only(other, queue) == []


def test_a_retry_of_what_failed_goes_to_the_worker_it_had(queue, session, other):
    flow, [job] = begin(queue, {"name": "a"}, affinity=True)
    [taken] = aimed(session, queue)
    acts.finish(session, taken, outcome="permanent_error")
    services.retry_workflow(workflow=flow, actor=ANN)
    assert targets(job) == [session.worker_id]
    assert Job.objects.get(pk=job).generation == 2


def test_moves_and_run_next_order_what_waits_for_one_worker(queue, session):
    flow, [job] = begin(queue, {"name": "a"}, required_worker=session.worker.uid)
    ahead = services.submit(queue=queue, type="ping", required_worker=session.worker.uid, priority=0).id
    services.run_next(job_id=ahead, actor=ANN)
    services.move_workflow(workflow=flow, actor=ANN, to="top")
    assert [one.job_id for _ in range(2) for one in aimed(session, queue, limit=1)] == [job, ahead]
    again, [late] = begin(queue, {"name": "a"}, required_worker=session.worker.uid)
    acts.enqueue(queue, priority=900)
    services.run_workflow_next(workflow=again, actor=ANN)
    assert ids(aimed(session, queue, limit=1)) == {late}
