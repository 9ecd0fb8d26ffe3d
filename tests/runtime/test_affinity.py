"""Two real workers and work that only one of them may have: it stays there, waits for it, and moves by an operator's word."""

import signal

import pytest

from apps.jobs import services
from apps.jobs.models import Workflow
from apps.jobs.selectors import find
from apps.jobs.selectors.why import why_waiting
from apps.queues import services as queues
from apps.workers.models import Worker
from tests.factories import QueueFactory
from tests.jobs.aims import join, workflow
from tests.jobs.looks import ANN, ledger
from tests.processes import final, until, worker

FAST = ("--poll-interval", "0.1", "--lease", "2", "--heartbeat", "0.5", "--concurrency", "2", "--processes", "0")


@pytest.fixture
def two(own_database, tmp_path, queue):
    with (
        worker(own_database, tmp_path, *FAST, name="w1") as one,
        worker(own_database, tmp_path, *FAST, name="w2") as other,
    ):
        yield {"w1": one, "w2": other}


def ran_on(*jobs):
    names = dict(Worker.objects.values_list("pk", "uid"))
    return {names[row.worker_id] for job in jobs for row in ledger(job) if row.worker_id}


def test_a_workflow_runs_where_its_first_job_ran_and_what_may_run_anywhere_is_shared(two, queue):
    flow, jobs = workflow(queue, jobs=12, type="effect.patient")
    loose = [services.submit(queue=queue, type="effect.patient", payload={"seconds": 0.05}).id for _ in range(30)]
    final(*jobs, *loose)
    bound = Workflow.objects.get(pk=flow.pk).assigned_worker
    assert len(ran_on(*jobs)) == 1
    assert {find(job).assigned_worker for job in jobs} == {bound}
    assert ran_on(*loose) == {"w1", "w2"}


def test_many_workflows_are_shared_out_and_each_stays_together(two, queue):
    flows = [workflow(queue, jobs=4, type="effect.patient")[1] for _ in range(10)]
    final(*[job for jobs in flows for job in jobs])
    assert all(len(ran_on(*jobs)) == 1 for jobs in flows)


def test_a_queue_with_limits_keeps_a_workflow_together_too(two, queue):
    queues.update(queue=queue, actor=ANN, max_concurrency=3)
    flows = [workflow(queue, jobs=4, type="effect.patient")[1] for _ in range(4)]
    final(*[job for jobs in flows for job in jobs])
    assert all(len(ran_on(*jobs)) == 1 for jobs in flows)


def test_a_worker_of_very_many_queues_finds_what_waits_for_it(two, queue):
    others = QueueFactory.create_batch(30, project=queue.project)
    jobs = [services.submit(queue=one, type="effect.patient", required_worker="w2").id for one in others]
    final(*jobs)
    assert ran_on(*jobs) == {"w2"}


def test_the_workflow_of_a_worker_that_died_waits_says_why_and_goes_on_where_an_operator_sends_it(two, queue):
    flow, [first] = workflow(queue, jobs=1, type="effect.patient", payload={"seconds": 60})
    until(lambda: find(first).state == "running")
    bound = Worker.objects.get(pk__in=Workflow.objects.values("assigned_worker")).uid
    spared = {"w1": "w2", "w2": "w1"}[bound]
    two[bound].send(signal.SIGKILL)
    two[bound].popen.wait(10)
    second = join(flow, queue, type="effect.patient", payload="{}")
    until(lambda: waits_for(second) == ("worker_offline", bound))
    until(lambda: find(first).state in ("retry_wait", "queued"))
    services.cancel(job_id=first, actor=ANN)
    assert find(second).state == "queued"
    services.reassign_workflow(workflow=flow, actor=ANN, worker=spared)
    final(second)
    assert ran_on(second) == {spared}


def waits_for(job):
    waiting = why_waiting(find(job))
    return waiting and (waiting.gates[0].code, waiting.gates[0].by)
