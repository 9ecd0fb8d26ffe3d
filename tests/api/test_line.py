"""The line of a project: who waits, who runs where, and one job for each workflow."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from apps.jobs.engine import line as engine
from apps.jobs.engine.admit import admit
from apps.jobs.engine.pause import pause
from apps.jobs.models import Workflow
from tests import acts
from tests.factories import ProjectFactory, QueueFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def line(viewer, queue) -> Any:
    def ask(query: str = "") -> dict[str, Any]:
        answer = viewer.get(f"projects/{queue.project_id}/line{query}")
        assert answer.status_code == 200, answer.content
        told: dict[str, Any] = answer.json()
        return told

    return ask


def put(job_id: UUID, **columns: Any) -> None:
    """Write columns that no verb of this test's concern sets."""
    with connection.cursor() as cursor:
        names = ", ".join(f"{name} = %s" for name in columns)
        cursor.execute(f"UPDATE jobs_job_live SET {names} WHERE id = %s", [*columns.values(), job_id])


def pending(told: dict[str, Any]) -> list[str]:
    return [item["id"] for item in told["pending"]]


def test_what_waits_is_pending_in_the_order_in_which_it_will_run(line, queue):
    last = acts.enqueue(queue, type="b")
    first = acts.enqueue(queue, type="a", priority=5)
    told = line()
    assert pending(told) == [str(first), str(last)]
    assert [item["position"] for item in told["pending"]] == [1, 2]
    assert all(item["waiting_seconds"] >= 0 for item in told["pending"])
    assert told["more"] is False
    assert told["workers"] == []


def test_a_running_job_stands_under_its_worker_and_waits_no_more(line, queue, session):
    job_id = acts.enqueue(queue)
    acts.take(session, queue)
    told = line()
    [section] = told["workers"]
    [item] = section["items"]
    assert (pending(told), section["state"], item["id"]) == ([], "live", str(job_id))
    assert (item["state"], item["attempts"], item["waiting_seconds"]) == ("running", 1, None)
    assert item["elapsed_seconds"] >= 0


def test_a_worker_with_nothing_to_do_has_a_section_too(line, session):
    [section] = line()["workers"]
    assert (section["items"], section["more"]) == ([], False)


def test_a_workflow_is_told_by_the_job_that_comes_next(line, queue, session):
    workflow = Workflow.objects.create(project=queue.project, name="spring")
    jobs = [acts.enqueue(queue) for _ in range(3)]
    alone = acts.enqueue(queue)
    for job_id in jobs:
        put(job_id, workflow_id=workflow.pk)
    told = line()
    assert pending(told) == [str(jobs[0]), str(alone)]
    assert told["pending"][0]["workflow_name"] == "spring"
    [claim] = acts.take(session, queue, limit=1)
    assert claim.job_id == jobs[0]
    told = line()
    assert pending(told) == [str(alone)]
    assert [item["id"] for item in told["workers"][0]["items"]] == [str(jobs[0])]


def test_work_for_a_worker_stands_under_it_at_once(line, queue, session):
    acts.enqueue(queue, placement="job", required_worker=session.worker_id)
    told = line()
    [section] = told["workers"]
    assert (pending(told), section["worker"]) == ([], session.worker.uid)
    assert section["items"][0]["required_worker"] == session.worker.uid
    assert section["items"][0]["waiting_seconds"] is not None


def test_what_failed_counts_down_and_may_be_tried_at_once(line, queue, session):
    acts.enqueue(queue)
    acts.finish(
        session, acts.take_one(session, queue), outcome="retryable_error", error_class="OSError", delay_ms=60_000
    )
    [item] = line()["pending"]
    assert (item["state"], item["can_retry"], item["waiting_seconds"]) == ("retry_wait", True, None)
    assert item["retry_at"] == item["run_at"]
    assert item["last_error"].startswith("OSError")


def test_what_is_held_back_is_shown_with_what_holds_it(line, queue):
    job_id = acts.enqueue(queue)
    pause(ids=[job_id])
    [item] = line()["pending"]
    assert (item["id"], item["state"], item["paused"]) == (str(job_id), "paused", True)


def test_a_key_without_a_place_shows_its_first(line, queue):
    queue.max_per_key = 1
    queue.save()
    jobs = [acts.enqueue(queue, concurrency_key="k") for _ in range(4)]
    admit(keys=[(queue.pk, "k")])
    assert pending(line()) == [str(jobs[0]), str(jobs[1])]  # the one that may run, and the next


def test_a_section_is_cut_and_says_so(line, queue, viewer):
    for _ in range(5):
        acts.enqueue(queue)
    told = line("?limit=3")
    assert (len(told["pending"]), told["more"]) == (3, True)
    assert line("?limit=5")["more"] is False
    assert viewer.get(f"projects/{queue.project_id}/line?limit=201").status_code == 400


def test_of_a_projects_workflows_only_the_newest_are_looked_through(line, queue, monkeypatch):
    flows = [Workflow.objects.create(project=queue.project) for _ in range(3)]
    for flow in flows[:2]:
        put(acts.enqueue(queue, delay_ms=60_000), workflow_id=flow.pk, state="blocked", pending=1)
    newest_first = [str(flows[1].pk), str(flows[0].pk)]
    assert sorted(item["workflow"] for item in line()["pending"]) == sorted(newest_first)
    monkeypatch.setattr(engine, "FAR", 2)
    assert [item["workflow"] for item in line()["pending"]] == newest_first[:1]
    monkeypatch.setattr(engine, "FAR", 1)
    assert pending(line()) == []


def test_of_a_queues_types_only_so_many_are_looked_at(line, queue, monkeypatch):
    jobs = [str(acts.enqueue(queue, type=type)) for type in "abc"]
    assert pending(line("?limit=1")) == jobs[:1]
    monkeypatch.setattr(engine, "STEPS", 2)
    assert pending(line()) == jobs[:2]


def test_another_projects_work_is_not_in_it(line, queue, session):
    elsewhere = QueueFactory.create(project=ProjectFactory.create(organization=queue.project.organization))
    acts.enqueue(elsewhere)
    acts.take(session, elsewhere)
    acts.enqueue(elsewhere)
    told = line()
    assert pending(told) == []
    assert [section["items"] for section in told["workers"]] == [[]]
