"""What a request costs in statements, however long the list; BEGIN, COMMIT and savepoints aside."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Role
from apps.audit.relay import relay
from apps.jobs.models import Workflow
from apps.queues.models import Depth, Queue
from tests import acts
from tests.api.caller import Api, token_of
from tests.factories import MembershipFactory, QueueFactory, WorkerFactory
from tests.jobs.aims import workflow
from tests.remote.conftest import api_of, begin

pytestmark = pytest.mark.django_db
FRAMES = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE SAVEPOINT")


@pytest.fixture
def program(organization) -> Api:
    """An API token that was used within the minute: noting its use costs one statement a minute."""
    api, _ = token_of(MembershipFactory.create(organization=organization, role=Role.MEMBER), "operate")
    api.get("auth/me")
    return api


def cost(call: Callable[[], Any], status: int = 200) -> int:
    with CaptureQueriesContext(connection) as sent:
        answer = call()
    assert answer.status_code == status, answer.content
    return len([one for one in sent.captured_queries if not one["sql"].startswith(FRAMES)])


def test_a_job_takes_three_statements_and_four_with_a_key(program, jobs):
    assert cost(lambda: program.post(jobs, {"type": "echo", "labels": {"a": "b"}}), 201) == 3
    assert cost(lambda: program.post(jobs, {"type": "echo"}, key="k"), 201) == 4
    assert cost(lambda: program.post(jobs, {"type": "echo", "unique_key": "u"}), 201) == 3


def test_a_thousand_jobs_take_four_statements(program, jobs):
    assert cost(lambda: program.post(f"{jobs}/batch", {"jobs": [{"type": "echo"}] * 1000}), 201) == 4


@pytest.mark.parametrize("count", [1, 60])
def test_lists_take_three_statements_whatever_the_page(program, queue, session, count):
    for _ in range(3):
        QueueFactory.create(project=queue.project)
    for _ in range(count):
        acts.enqueue(queue)
    acts.finish(session, *acts.take(session, queue), outcome="permanent_error", error_class="OSError")
    for path in (
        f"jobs?queue={queue.pk}&limit=200",
        f"jobs?project={queue.project_id}&limit=200",
        f"dlq?project={queue.project_id}",
        f"projects/{queue.project_id}/queues",
        f"projects/{queue.project_id}/retry-policies",
        f"projects/{queue.project_id}/queue-health",
        f"stats/queues/{queue.pk}/series?minutes=1440",
        f"orgs/{queue.project.organization_id}/members",
        f"orgs/{queue.project.organization_id}/projects",
        "orgs",
    ):
        assert cost(partial(program.get, path)) <= 3, path


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_of_workflows_takes_four_and_one_for_all_their_workers(program, queue, count):
    path = f"projects/{queue.project_id}/workflows"
    for worker in WorkerFactory.create_batch(count):
        workflow(queue, jobs=1, placement=None, assigned_worker=worker.pk)
        workflow(queue, jobs=1, placement=None, required_worker=worker.pk)
    assert cost(lambda: program.get(path)) == 5
    Workflow.objects.update(assigned_worker=None, required_worker=None)
    assert cost(lambda: program.get(path)) == 4


def test_a_remote_workers_calls_take_six_at_most(queue):
    remote = begin(api_of(queue.project.organization), "first")
    assert cost(lambda: remote.ask("claim")) == 6
    for _ in range(60):
        acts.enqueue(queue)
    jobs = remote.claim()
    assert cost(lambda: remote.ask("heartbeat", held=[])) == 3
    ends = {"results": [{"job": job["job"], "fence": job["fence"], "outcome": "success"} for job in jobs]}
    assert cost(lambda: remote.ask("report", **ends)) == 4
    assert cost(lambda: remote.ask("report", **ends)) == 5
    remote.claim()
    assert cost(lambda: remote.api.delete(remote.path), 204) == 6


def test_pages_of_events_take_four(program, queue):
    for _ in range(30):
        acts.enqueue(queue)
    relay()
    assert cost(lambda: program.get(f"projects/{queue.project_id}/events?after=3&limit=20")) <= 4


def test_what_a_queue_holds_takes_four_and_a_worker_five(program, queue, session):
    acts.enqueue(queue)
    acts.take(session, queue)
    assert cost(lambda: program.get(f"stats/queues/{queue.pk}")) <= 4
    assert cost(lambda: program.get(f"workers/{session.worker.uid}")) <= 5


def test_workers_take_four(program, queue, session):
    acts.enqueue(queue)
    acts.take(session, queue)
    assert cost(lambda: program.get(f"workers?queue={queue.pk}")) <= 4


def test_why_a_job_waits_takes_one_of_those_a_waiting_job_takes(program, queue):
    parent = acts.enqueue(queue)
    child = acts.enqueue(queue, depends_on=[parent])
    assert cost(lambda: program.get(f"jobs/{parent}")) <= 10
    assert cost(lambda: program.get(f"jobs/{child}")) <= 10


def test_a_submit_to_a_queue_with_a_depth_cap_takes_no_statement_more(program, queue, jobs):
    Queue.objects.update(max_depth=10)
    Depth.objects.create(queue=queue, queued=3)
    assert cost(lambda: program.post(jobs, {"type": "echo"}), 201) == 3
    assert cost(lambda: program.post(f"{jobs}/batch", {"jobs": [{"type": "echo"}] * 5}), 201) == 4
    Depth.objects.update(queued=10)
    assert cost(lambda: program.post(jobs, {"type": "echo"}), 429) == 2


def test_a_whole_job_takes_a_dozen(program, queue, session):
    parent = acts.enqueue(queue)
    child = acts.enqueue(queue, depends_on=[parent])
    acts.finish(session, acts.take_one(session, queue))
    acts.take_one(session, queue)
    assert cost(lambda: program.get(f"jobs/{child}")) <= 12
