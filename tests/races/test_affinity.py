"""Who binds a workflow, when many could: exactly one, and its jobs follow; those that come meanwhile too."""

import pytest
from django.db import transaction

from apps.audit.record import SYSTEM
from apps.errors import Conflict
from apps.jobs import services
from apps.jobs.models import Job, Workflow
from apps.queues.services import queues
from tests.factories import SessionFactory
from tests.jobs.aims import aimed, gated, ids, join, targets, workflow
from tests.jobs.looks import run
from tests.races.stage import aside, meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def ran_on(flow):
    """The workers that run jobs of a workflow now."""
    return {
        worker
        for [worker] in run(
            "SELECT DISTINCT session.worker_id FROM jobs_job_live AS job"
            " INNER JOIN workers_session AS session ON job.session_id = session.id WHERE job.workflow_id = %s",
            [flow.pk],
        )
    }


@pytest.mark.parametrize("roots", [2, 8])
def test_of_many_that_claim_its_first_jobs_one_binds_a_workflow(queue, roots):
    sessions = SessionFactory.create_batch(4)
    for _round in range(5):
        flow, jobs = workflow(queue, jobs=roots)
        together(*[lambda one=one: aimed(one, queue, limit=2) for one in sessions])
        bound = Workflow.objects.get(pk=flow.pk).assigned_worker
        assert ran_on(flow) == {bound}
        assert set(targets(*jobs)) == {bound}
        [owner] = [one for one in sessions if one.worker_id == bound]
        aimed(owner, queue)
        assert Job.objects.filter(workflow_id=flow.pk, session_id=owner.pk).count() == roots
        run("UPDATE workers_session SET concurrency = concurrency + 20")


def test_of_many_that_claim_one_job_that_keeps_its_worker_one_binds_it(queue):
    sessions = SessionFactory.create_batch(4)
    for _round in range(5):
        job = services.submit(queue=queue, type="ping", placement="job").id
        got = together(*[lambda one=one: aimed(one, queue) for one in sessions])
        [taker] = [one for one, taken in zip(sessions, got, strict=True) if taken]
        assert targets(job) == [taker.worker_id]


def test_behind_gates_one_binds_too(queue):
    queues.update(queue=queue, actor=SYSTEM, max_concurrency=50, shards=4)
    run("UPDATE queues_gate SET opens_after = NULL")
    sessions = SessionFactory.create_batch(4)
    for _round in range(5):
        flow, jobs = workflow(queue, jobs=6)
        together(*[lambda one=one: gated(one, queue, limit=2) for one in sessions])
        bound = Workflow.objects.get(pk=flow.pk).assigned_worker
        assert ran_on(flow) == {bound}
        assert set(targets(*jobs)) == {bound}
        running = Job.objects.filter(queue=queue, state="running").count()
        assert run("SELECT sum(in_flight) FROM queues_gate") == [(running,)]


def test_whoever_finds_a_workflow_being_bound_leaves_its_jobs(queue):
    one, other = SessionFactory.create_batch(2)
    flow, jobs = workflow(queue, jobs=3)
    with transaction.atomic():
        assert len(aimed(one, queue, limit=1)) == 1
        assert aside(lambda: aimed(other, queue)) == []
    assert set(targets(*jobs)) == {one.worker_id}


def test_a_job_that_joins_while_its_workflow_is_bound_waits_to_see_where_it_goes(queue):
    session = SessionFactory.create()
    flow, _ = workflow(queue, jobs=1)
    with meanwhile(lambda: join(flow, queue)) as joined:
        assert len(aimed(session, queue)) == 1
    assert targets(joined.result()) == [session.worker_id]


def test_a_workflow_that_a_job_is_joining_is_bound_a_little_later(queue):
    session = SessionFactory.create()
    flow, [first] = workflow(queue, jobs=1)
    with transaction.atomic():
        late = join(flow, queue)
        assert aside(lambda: aimed(session, queue)) == []
    assert ids(aimed(session, queue)) == {first, late}


def test_a_workflow_is_not_moved_while_its_first_job_is_being_claimed(queue):
    """The claim comes first: the operator hears that something runs there."""
    session, other = SessionFactory.create_batch(2)
    flow, jobs = workflow(queue)
    with meanwhile(lambda: reassign_workflow(flow, other)) as moved:
        assert len(aimed(session, queue, limit=1)) == 1
    assert isinstance(moved.exception(), Conflict)
    assert set(targets(*jobs)) == {session.worker_id}


def test_a_job_that_is_claimed_while_its_workflow_is_moved_runs_nowhere_else(queue):
    """The workflow is bound by now, and the claim does not look at its row: the rows of its jobs decide."""
    session, other = SessionFactory.create_batch(2)
    flow, jobs = workflow(queue, required_worker=session.worker_id)
    with meanwhile(lambda: reassign_workflow(flow, other)) as moved:
        assert len(aimed(session, queue, limit=1)) == 1
    assert isinstance(moved.exception(), Conflict)
    assert set(targets(*jobs)) == {session.worker_id}


def test_what_a_move_holds_is_not_claimed_by_the_worker_it_leaves(queue):
    session, other = SessionFactory.create_batch(2)
    flow, jobs = workflow(queue, required_worker=session.worker_id)
    with transaction.atomic():
        reassign_workflow(flow, other)
        assert aside(lambda: aimed(session, queue)) == []
    assert ids(aimed(other, queue)) == set(jobs)


def reassign_workflow(flow, session):
    services.reassign_workflow(workflow=flow, actor=SYSTEM, worker=session.worker.uid)
