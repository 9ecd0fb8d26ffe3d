"""Whom a job waits for, over HTTP (case H29)."""

from typing import Any

import pytest
from uuid_utils.compat import uuid7

from apps.audit.models import Entry
from tests import acts
from tests.api.caller import pointers, problem
from tests.factories import ProjectFactory, QueueFactory

pytestmark = pytest.mark.django_db


def patch(api, job_id, *parents):
    return api.patch(f"jobs/{job_id}", {"depends_on": [str(parent) for parent in parents]})


def test_a_job_waits_for_others_and_answers_as_it_is_now(api, queue):
    parent, job_id = acts.enqueue(queue), acts.enqueue(queue)
    answer = patch(api, job_id, parent)
    assert (answer.status_code, answer.json()["state"]) == (200, "blocked")
    shown = api.get(f"jobs/{job_id}").json()
    assert [one["id"] for one in shown["parents"]] == [str(parent)]
    assert shown["why_waiting"]["gates"][0]["code"] == "parents"
    assert patch(api, job_id).json()["state"] == "queued"
    assert list(Entry.objects.values_list("action", flat=True)) == ["job.depends_on"] * 2


def test_itself_and_a_circle_are_named(api, queue):
    first = acts.enqueue(queue)
    second = acts.enqueue(queue, depends_on=[first])
    [fault] = problem(patch(api, first, second), 400, "bad_input")["errors"]
    assert fault["pointer"] == "#/depends_on"
    assert f"{first} → {second} → {first}" in fault["detail"]
    [fault] = problem(patch(api, first, second, first), 400, "bad_input")["errors"]
    assert fault == {"pointer": "#/depends_on/1", "detail": "A job cannot wait for itself."}


def test_jobs_of_others_do_not_exist(api, queue):
    job_id = acts.enqueue(queue)
    near = QueueFactory.create(project=ProjectFactory.create(organization=queue.project.organization))
    for parent in (acts.enqueue(near), acts.enqueue(QueueFactory.create()), uuid7()):
        assert pointers(patch(api, job_id, parent)) == ["#/depends_on/0"]


def test_what_is_wrong_in_a_list_is_pointed_at_alike_wherever_it_is_given(api, queue):
    old, held = acts.enqueue(queue), acts.enqueue(queue)
    job_id = acts.enqueue(queue, depends_on=[held])
    place, jobs = f"projects/{queue.project_id}/workflows", f"queues/{queue.pk}/jobs"
    job: dict[str, Any] = {}
    for bad in (str(uuid7()), "x", 5):
        given = [str(held), str(old), str(old), bad]
        job = {"type": "x", "depends_on": given}
        steps: list[dict[str, Any]] = [{"name": "b", "depends_on": ["a", *given]}, {"name": "a"}]
        assert pointers(api.post(jobs, job)) == ["#/depends_on/3"]
        assert pointers(api.patch(f"jobs/{job_id}", {"depends_on": given})) == ["#/depends_on/3"]
        assert pointers(api.post(f"{jobs}/batch", {"jobs": [{"type": "x"}, job]})) == ["#/jobs/1/depends_on/3"]
        refused = api.post(place, {"jobs": [{"queue": queue.name, "type": "x", **step} for step in steps]})
        assert pointers(refused) == ["#/jobs/0/depends_on/4"]
    item = api.post(f"{jobs}/batch", {"jobs": [{"type": "x"}, job], "on_error": "reject_item"}).json()["rejected"][0]
    assert [one["pointer"] for one in item["error"]["errors"]] == ["#/jobs/1/depends_on/3"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/depends_on"),
        ({"depends_on": None}, "#/depends_on"),
        ({"depends_on": "x"}, "#/depends_on"),
        ({"depends_on": ["x"]}, "#/depends_on/0"),
        ({"depends_on": [str(uuid7()) for _ in range(1001)]}, "#/depends_on"),
    ],
)
def test_what_is_no_list_of_jobs_is_named(body, pointer, api, queue):
    assert pointers(api.patch(f"jobs/{acts.enqueue(queue)}", body)) == [pointer]


@pytest.mark.parametrize("field", ["priority", "payload", "state", "run_at"])
def test_nothing_else_of_a_job_is_changed_this_way(field, api, queue):
    refused = problem(api.patch(f"jobs/{acts.enqueue(queue)}", {"depends_on": [], field: 1}), 400, "unknown_field")
    assert [one["pointer"] for one in refused["errors"]] == [f"#/{field}"]


@pytest.mark.parametrize("outcome", [None, "success", "cancelled", "retryable_error"])
def test_a_job_that_was_started_is_a_conflict_that_names_the_state(outcome, api, queue, session):
    job_id = acts.enqueue(queue)
    taken = acts.take_one(session, queue)
    if outcome:
        acts.finish(session, taken, outcome=outcome)
    refused = problem(patch(api, job_id, acts.enqueue(queue)), 409, "illegal_move")
    assert api.get(f"jobs/{job_id}").json()["state"] in refused["detail"]


def test_viewers_change_nothing(viewer, queue):
    problem(patch(viewer, acts.enqueue(queue)), 403)
