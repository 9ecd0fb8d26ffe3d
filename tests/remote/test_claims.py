"""What a remote worker is given: like a local one, in turn, behind gates and never more than it has slots for."""

import json

import pytest

from apps.jobs.engine.admit import admit
from apps.jobs.selectors import find
from apps.jobs.services import submit
from apps.jobs.states import JobState
from apps.queues.models import PausedType, Queue
from apps.runtime.supervisor.turns import AT_ONCE
from tests import acts
from tests.api.caller import pointers
from tests.factories import ProjectFactory, QueueFactory
from tests.jobs.aims import workflow
from tests.jobs.test_gates import limit
from tests.remote.conftest import begin

pytestmark = pytest.mark.django_db


def test_a_claim_tells_all_there_is_to_know(remote, queue):
    job_id = acts.enqueue(queue, payload=json.dumps({"text": "a ☂", "list": [1, None]}), timeout_ms=5000)
    job = remote.one()
    assert job["job"] == str(job_id)
    assert job["payload"] == {"text": "a ☂", "list": [1, None]}
    assert (job["queue"], job["type"], job["attempt"]) == (str(queue.pk), "ping", 1)
    assert isinstance(job["fence"], str)
    assert 0 < job["limit_ms"] <= 5000
    assert job["idempotency_key"].startswith(job["job"])


def test_payloads_are_not_hidden_from_who_must_work_with_them(remote, queue):
    queue.project.hide_payloads_below = "owner"
    queue.project.save()
    acts.enqueue(queue, payload='"secret"')
    assert remote.one()["payload"] == "secret"


def test_never_more_than_there_are_slots(api, queue):
    small = begin(api, concurrency=3)
    for _ in range(5):
        acts.enqueue(queue)
    assert len(small.claim(limit=2)) == 2
    assert len(small.claim(limit=10)) == 1
    assert small.claim() == []


def test_without_work_the_answer_comes_at_once_where_nobody_can_wait(remote):
    answer = remote.ask("claim", wait_seconds=30)
    assert answer.json() == {"jobs": [], "drain": False}
    assert answer["Retry-After"] == "1"
    assert "Retry-After" not in remote.ask("claim")


def test_types_and_queues_are_some_of_the_sessions(api, queue, project):
    second = QueueFactory.create(project=project)
    both = begin(api, types=["ping", "pong"])
    for place in (queue, second):
        for kind in ("ping", "pong"):
            acts.enqueue(place, type=kind)
    [job] = both.claim(queues=[str(second.pk)], types=["pong"])
    assert (job["queue"], job["type"]) == (str(second.pk), "pong")
    assert pointers(both.ask("claim", queues=[str(QueueFactory.create().pk)])) == ["#/queues/0"]
    assert pointers(both.ask("claim", types=["ping", "pang"])) == ["#/types/1"]


@pytest.mark.parametrize(
    ("field", "value"), [("limit", 0), ("wait_seconds", 31), ("queues", []), ("types", [1]), ("x", 1)]
)
def test_what_cannot_be_is_named(remote, field, value):
    assert pointers(remote.ask("claim", **{field: value}))[0].split("/")[1] == field


def test_paused_queues_and_types_are_left_alone(remote, queue):
    acts.enqueue(queue)
    PausedType.objects.create(project=queue.project, type="ping", paused_at=queue.created_at)
    assert remote.claim() == []
    PausedType.objects.all().delete()
    Queue.objects.update(paused_at=queue.created_at)
    assert remote.claim() == []
    Queue.objects.update(paused_at=None)
    assert len(remote.claim()) == 1


def test_a_cap_holds_for_local_and_remote_workers_together(remote, session, queue):
    limit(queue, max_concurrency=2)
    for _ in range(5):
        acts.enqueue(queue)
    taken = remote.claim()
    assert len(taken) == 2
    assert remote.claim() == []
    remote.report(taken[0])
    assert len(remote.claim()) == 1


def test_a_backlog_of_one_queue_does_not_starve_another(api, queue, project):
    for _ in range(20):
        acts.enqueue(queue)
    late = QueueFactory.create(project=project)
    remote = begin(api, concurrency=100)
    acts.enqueue(late)
    first = [remote.one()["queue"] for _ in range(2)]
    assert str(late.pk) in first


def test_many_queues_take_turns(api, organization, queue):
    project = ProjectFactory.create(organization=organization)
    crowd = [QueueFactory.create(project=project) for _ in range(40)]
    remote = begin(api, concurrency=1000)
    for _ in range(50):
        acts.enqueue(crowd[0])
    for one in crowd[1:]:
        acts.enqueue(one)
    seen = [remote.one()["queue"] for _ in range(45)]
    assert len(set(seen)) == 40


def test_a_worker_of_many_queues_gets_to_what_waits_for_it_behind_more_queues_of_others(api, project):
    others = [QueueFactory.create() for _ in range(AT_ONCE + 1)]
    own = [QueueFactory.create(project=project) for _ in range(AT_ONCE + 1)]
    for one in [*others, own[-1]]:
        workflow(one, jobs=1)
    remote = begin(api)
    assert [job["queue"] for job in remote.claim()] == [str(own[-1].pk)]


def test_jobs_of_a_key_run_one_by_one(remote, queue):
    Queue.objects.update(max_per_key=1)
    queue.refresh_from_db()
    with_key = [submit(queue=queue, type="ping", concurrency_key="k").pk for _ in range(2)]
    _admit(queue)
    [job] = remote.claim()
    assert job["job"] == str(with_key[0])
    assert remote.claim() == []
    remote.report(job)
    _admit(queue)
    assert [one["job"] for one in remote.claim()] == [str(with_key[1])]


def _admit(queue):
    """What happens after a commit, which tests that roll back never see."""
    admit(keys=[(queue.pk, "k")])


def test_a_job_says_which_remote_worker_runs_it(remote, queue):
    job_id = acts.enqueue(queue)
    remote.one()
    assert find(job_id).state == JobState.RUNNING
    assert str(find(job_id).session_id) == remote.id
