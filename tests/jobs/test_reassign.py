"""An operator gives what waits for one worker to another, job by job or a whole workflow."""

import pytest

from apps.audit.models import Entry
from apps.errors import BadInput, Conflict, IllegalMove, WorkerUnavailable
from apps.jobs import services
from apps.jobs.engine.aim import FIRST_OF_JOB, FIRST_OF_WORKFLOW
from apps.jobs.models import Workflow
from apps.workers.models import Session
from tests import acts
from tests.jobs.aims import aimed, ids, join, open_only, targets, workflow
from tests.jobs.looks import ANN, come_round, look, state, told


def to(job_id, session):
    services.reassign(job_id=job_id, actor=ANN, worker=session.worker.uid if session else None)


def flow_to(flow, session):
    services.reassign_workflow(workflow=flow, actor=ANN, worker=session.worker.uid if session else None)


def test_a_job_of_the_open_line_is_given_to_one_worker(queue, session, other):
    job = acts.enqueue(queue)
    to(job, other)
    assert aimed(session, queue) == []
    assert ids(aimed(other, queue)) == {job}


def test_a_job_that_waits_for_a_worker_that_is_gone_is_given_to_another(queue, session, other):
    job = services.submit(queue=queue, type="ping", placement="job").id
    [taken] = aimed(session, queue)
    acts.finish(session, taken, outcome="lost")
    to(job, other)
    come_round(job)
    assert aimed(session, queue) == []
    assert ids(aimed(other, queue)) == {job}


def test_a_job_that_is_given_to_nobody_keeps_the_next_that_takes_it(queue, session, other):
    job = services.submit(queue=queue, type="ping", required_worker=session.worker.uid).id
    to(job, None)
    assert targets(job) == [FIRST_OF_JOB]
    assert look(job).required_worker is None
    aimed(other, queue)
    assert look(job).assigned_worker == other.worker_id


def test_one_of_the_open_line_that_is_given_to_nobody_stays_there(queue, session):
    job = acts.enqueue(queue)
    to(job, None)
    assert ids(open_only(session, queue)) == {job}


def test_it_is_written_down_and_told(queue, session, other):
    job = services.submit(queue=queue, type="ping", required_worker=session.worker.uid).id
    to(job, other)
    entry = Entry.objects.get(action="job.reassign")
    assert (entry.before, entry.after) == ({"worker": session.worker.uid}, {"worker": other.worker.uid})
    [fact] = told("job.reassigned")
    assert (fact.job_ids, fact.data) == ([job], {"worker": other.worker.uid})


def test_what_runs_or_has_ended_stays_where_it_is(queue, session, other):
    running = acts.enqueue(queue)
    acts.take_one(session, queue)
    ended = acts.enqueue(queue)
    services.cancel(job_id=ended, actor=ANN)
    for job in (running, ended):
        with pytest.raises(IllegalMove, match=state(job)):
            to(job, other)
    assert not Entry.objects.filter(action="job.reassign").exists()


def test_a_worker_that_cannot_take_it_is_refused(queue, session, other):
    job = acts.enqueue(queue)
    Session.objects.filter(pk=other.pk).update(draining=True)
    with pytest.raises(WorkerUnavailable) as refusal:
        to(job, other)
    assert refusal.value.errors[0].pointer == "#/worker"
    with pytest.raises(BadInput, match="no such worker"):
        services.reassign(job_id=job, actor=ANN, worker="nobody")


def test_a_workflow_goes_to_another_worker_with_all_that_waits(queue, session, other):
    flow, [first, second] = workflow(queue)
    late = join(flow, queue, delay_ms=60_000)
    [taken] = aimed(session, queue, limit=1)
    acts.finish(session, taken, outcome="lost")
    flow_to(flow, other)
    assert targets(first, second, late) == [other.worker_id] * 3
    assert aimed(session, queue) == []
    come_round(first)
    assert ids(aimed(other, queue)) == {first, second}
    entry = Entry.objects.get(action="workflow.reassign", target_id=str(flow.pk))
    assert (entry.before, entry.after) == ({"worker": session.worker.uid}, {"worker": other.worker.uid})
    assert {(fact.data or {})["worker"] for fact in told("job.reassigned")} == {other.worker.uid}


def test_a_workflow_that_is_given_to_nobody_is_bound_by_the_next(queue, session, other):
    flow, jobs = workflow(queue, required_worker=session.worker_id)
    flow_to(flow, None)
    assert targets(*jobs) == [FIRST_OF_WORKFLOW] * 2
    assert ids(aimed(other, queue)) == set(jobs)
    assert Workflow.objects.get(pk=flow.pk).assigned_worker == other.worker_id


def test_a_workflow_of_which_something_runs_elsewhere_stays(queue, session, other):
    flow, jobs = workflow(queue)
    [taken] = aimed(session, queue, limit=1)
    with pytest.raises(Conflict, match=str(taken.job_id)):
        flow_to(flow, other)
    with pytest.raises(Conflict, match=str(taken.job_id)):
        flow_to(flow, None)
    assert targets(*jobs) == [session.worker_id] * 2
    flow_to(flow, session)
    assert Workflow.objects.get(pk=flow.pk).required_worker == session.worker_id


def test_what_may_run_anywhere_does_not_keep_its_workflow(queue, session, other):
    flow, _ = workflow(queue, jobs=1)
    join(flow, queue, placement=None)
    assert len(open_only(other, queue)) == 1
    flow_to(flow, session)


def test_a_job_that_follows_its_workflow_is_not_taken_from_it(queue, session, other):
    _, [job] = workflow(queue, jobs=1)
    with pytest.raises(Conflict, match="reassign the workflow"):
        to(job, other)
