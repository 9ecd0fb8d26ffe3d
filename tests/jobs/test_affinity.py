"""Jobs that one worker alone may run: named for them, the first that took them, or that of their workflow."""

import pytest
from django.utils.timezone import now

from apps.errors import BadInput, WorkerUnavailable
from apps.jobs import services
from apps.jobs.engine.aim import FIRST_OF_JOB, FIRST_OF_WORKFLOW
from apps.jobs.engine.claim_in_turn import claim_in_turn
from apps.jobs.engine.depth import depth
from apps.jobs.engine.gates import gates
from apps.jobs.engine.ready import NOWHERE, Aimed, ready, ready_aimed, ready_sessions
from apps.jobs.models import Workflow
from apps.queues.models import Depth
from apps.workers.models import Session, Worker
from tests import acts
from tests.factories import OrganizationFactory, QueueFactory, SessionFactory, WorkerFactory
from tests.jobs.aims import aimed, gated, ids, join, open_only, targets, workflow
from tests.jobs.looks import ANN, come_round, fail_for_good, look, run, state


def required(queue, session):
    return services.submit(queue=queue, type="ping", required_worker=session.worker.uid).id


def test_a_job_that_requires_a_worker_is_handed_to_no_other(queue, session, other):
    job = required(queue, session)
    assert aimed(other, queue) == open_only(other, queue) == open_only(session, queue) == []
    assert ids(aimed(session, queue)) == {job}
    assert (look(job).required_worker, look(job).assigned_worker) == (session.worker_id, session.worker_id)


def test_rank_orders_both_lines(queue, session):
    low = required(queue, session)
    high = acts.enqueue(queue, priority=5)
    top = services.submit(queue=queue, type="ping", required_worker=session.worker.uid, priority=9).id
    assert [one.job_id for _ in range(3) for one in aimed(session, queue, limit=1)] == [top, high, low]


def test_a_job_that_keeps_its_worker_is_bound_by_the_first_claim_and_retried_there(queue, session, other):
    job = services.submit(queue=queue, type="ping", placement="job").id
    assert targets(job) == [FIRST_OF_JOB]
    [taken] = aimed(other, queue)
    assert look(job).assigned_worker == other.worker_id
    acts.finish(other, taken, outcome="retryable_error")
    come_round(job)
    assert aimed(session, queue) == []
    assert ids(aimed(other, queue)) == {job}


@pytest.mark.parametrize("outcome", ["released", "snoozed", "lost", "timeout"])
def test_however_its_attempt_ends_it_waits_for_the_same_worker(queue, session, outcome):
    job = services.submit(queue=queue, type="ping", placement="job").id
    [taken] = aimed(session, queue)
    acts.finish(session, taken, outcome=outcome, delay_ms=0)
    assert (state(job), targets(job)) == ("queued", [session.worker_id])


def test_the_first_claim_of_a_workflow_binds_all_its_jobs(queue, session, other):
    flow, [one, two] = workflow(queue)
    late = join(flow, queue, delay_ms=60_000)
    assert targets(one, two, late) == [FIRST_OF_WORKFLOW] * 3
    [taken] = aimed(session, queue, limit=1)
    assert Workflow.objects.get(pk=flow.pk).assigned_worker == session.worker_id
    assert targets(one, two, late) == [session.worker_id] * 3
    assert aimed(other, queue) == []
    assert ids(aimed(session, queue)) | {taken.job_id} == {one, two}
    come_round(late)
    assert ids(aimed(session, queue)) == {late}


def test_a_job_that_joins_a_bound_workflow_follows(queue, session):
    flow, _ = workflow(queue, jobs=1)
    aimed(session, queue)
    assert targets(join(flow, queue)) == [session.worker_id]


def test_jobs_of_a_workflow_that_may_run_anywhere_do(queue, session, other):
    flow, [bound] = workflow(queue, jobs=1)
    webhook = join(flow, queue, placement=None)
    assert ids(open_only(other, queue)) == {webhook}
    assert Workflow.objects.get(pk=flow.pk).assigned_worker is None
    assert ids(aimed(session, queue)) == {bound}


def test_the_worker_a_workflow_requires_runs_it(queue, session, other):
    flow, jobs = workflow(queue, required_worker=session.worker_id)
    assert aimed(other, queue) == []
    assert ids(aimed(session, queue)) == set(jobs)


def test_a_dead_letter_that_is_replayed_waits_for_the_worker_it_had(queue, session):
    flow, [job] = workflow(queue, jobs=1)
    [taken] = aimed(session, queue)
    acts.finish(session, taken, outcome="permanent_error")
    assert state(job) == "dead_letter"
    services.replay(job_id=job, actor=ANN)
    assert targets(job) == [session.worker_id]


def test_a_dead_letter_of_the_open_line_goes_back_there(queue, session):
    job = acts.enqueue(queue)
    fail_for_good(session, queue, job)
    services.replay(job_id=job, actor=ANN)
    assert targets(job) == [None]


def test_a_queue_with_limits_hands_them_out_by_the_same_rules(queue, session, other):
    run("INSERT INTO queues_gate (queue_id, shard, cap, in_flight, tokens, breaker, trips)"
        " VALUES (%s, 0, 9, 0, 0, 'closed', 0)", [queue.pk])  # fmt: skip
    flow, [one, two] = workflow(queue)
    mine = required(queue, session)
    offers = {"queues": [queue.pk], "types": ["ping"]}
    assert gates(**offers, session_id=None) == []
    assert len(gates(**offers, session_id=session.pk)) == 1
    assert ids(gated(other, queue, limit=1)) == {one}
    assert ids(gated(session, queue)) == {mine}
    assert ids(gated(other, queue)) == {two}
    assert run("SELECT in_flight FROM queues_gate") == [(3,)]


def test_the_remote_workers_door_obeys_the_same_rules(queue, session, other):
    mine, theirs = required(queue, session), required(queue, other)
    got = claim_in_turn(session_id=session.pk, queues=[queue.pk], offers=acts.OFFERS, limit=5)
    assert ids(got.jobs) == {mine}
    assert state(theirs) == "queued"


def test_a_key_counts_wherever_its_jobs_wait(queue, session):
    type(queue).objects.filter(pk=queue.pk).update(max_per_key=1)
    uid = session.worker.uid
    for _ in range(2):
        services.submit(queue=queue, type="ping", concurrency_key="k", required_worker=uid)
    from apps.jobs.engine.admit import admit

    admit(keys=[(queue.pk, "k")])
    assert len(aimed(session, queue)) == 1
    assert aimed(session, queue) == []


def test_a_walk_over_many_queues_finds_those_with_work_for_its_worker(queue, session, other):
    mine, theirs = QueueFactory.create_batch(2, project=queue.project)
    required(mine, session)
    required(theirs, other)
    acts.enqueue(queue)
    assert ready(after=NOWHERE, limit=9) == [queue.pk]
    assert ready_aimed(session_id=session.pk, after=NOWHERE, limit=9) == [mine.pk]


def test_of_those_that_wait_whoever_has_something_to_take_is_found(queue, session, other):
    Session.objects.update(queues=[queue.pk], types=["ping"], concurrency=1)
    required(queue, session)
    both = [session.pk, other.pk]
    assert ready_sessions(sessions=both) == [Aimed(queue.pk, session.pk)]
    assert ready_sessions(sessions=[other.pk]) == []
    Session.objects.update(types=["pong"])
    assert ready_sessions(sessions=both) == []
    Session.objects.update(types=["ping"], queues=[QueueFactory.create().pk])
    assert ready_sessions(sessions=both) == []
    Session.objects.update(queues=[queue.pk])
    assert aimed(session, queue)
    required(queue, session)
    assert ready_sessions(sessions=both) == []  # it has no room
    services.submit(queue=queue, type="ping", placement="job")
    assert ready_sessions(sessions=both) == [Aimed(queue.pk, None)]


def test_what_waits_for_one_worker_counts_for_the_depth_of_its_queue(queue, session):
    required(queue, session)
    depth()
    assert Depth.objects.get(queue=queue).queued == 1


def refused(queue, uid):
    with pytest.raises(WorkerUnavailable) as refusal:
        services.submit(queue=queue, type="ping", required_worker=uid)
    [fault] = refusal.value.errors
    assert fault.pointer == "#/required_worker"
    return fault.detail


def test_a_worker_that_cannot_take_it_is_refused_by_name(queue, session):
    uid = session.worker.uid
    Session.objects.filter(pk=session.pk).update(draining=True)
    assert "drains" in refused(queue, uid)
    Session.objects.filter(pk=session.pk).update(draining=False)
    Worker.objects.update(drained_at=now())
    assert "drains" in refused(queue, uid)
    Worker.objects.update(drained_at=None)
    Session.objects.filter(pk=session.pk).update(queues=[QueueFactory.create(project=queue.project).pk])
    assert queue.name in refused(queue, uid)
    acts.fall_silent(session)
    assert "offline" in refused(queue, uid)


def test_a_worker_of_another_organization_does_not_exist_here(queue):
    foreign = SessionFactory.create(worker=WorkerFactory.create(organization=OrganizationFactory.create()))
    for uid in (foreign.worker.uid, "nobody"):
        with pytest.raises(BadInput, match="no such worker") as refusal:
            services.submit(queue=queue, type="ping", required_worker=uid)
        assert refusal.value.errors[0].pointer == "#/required_worker"


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"placement": "any", "required_worker": "w"}, "#/jobs/0/placement"),
        ({"placement": "dispatch"}, "#/jobs/0/placement"),
        ({"placement": "there"}, "#/jobs/0/placement"),
        ({"required_worker": 7}, "#/jobs/0/required_worker"),
        ({"required_worker": "w" * 129}, "#/jobs/0/required_worker"),
    ],
)
def test_what_makes_no_sense_is_refused(queue, fields, pointer):
    with pytest.raises(BadInput) as refusal:
        services.submit_batch(queue=queue, jobs=[{"type": "ping", **fields}])
    assert [fault.pointer for fault in refusal.value.errors] == [pointer]
