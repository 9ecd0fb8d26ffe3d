"""Workflows over HTTP: what is answered, what is refused and how it is named."""

from typing import Any

import pytest

from apps.accounts.models import Role
from apps.jobs.models import Job, Workflow
from apps.jobs.selectors import workflows as reads
from tests.acts import finish, take_one
from tests.api.caller import BASE, pointers, problem, someone, token_of
from tests.factories import MembershipFactory
from tests.jobs.workflows import DIAMOND, begin, jobs_of, step, work

pytestmark = pytest.mark.django_db
NEW: dict[str, Any] = {
    "name": "film",
    "priority": 3,
    "labels": {"film": "7"},
    "jobs": [
        {"name": name, "queue": "images", "type": "ping", "payload": {"n": name}, "depends_on": waits}
        for name, waits in DIAMOND.items()
    ],
}


@pytest.fixture
def place(queue) -> str:
    return f"projects/{queue.project_id}/workflows"


def test_one_is_made_shown_and_listed(api, place, queue):
    answer = api.post(place, NEW)
    made = answer.json()
    assert answer.status_code == 201
    assert [(one["name"], one["state"]) for one in made["jobs"]] == [
        (name, "blocked" if waits else "queued") for name, waits in DIAMOND.items()
    ]
    seen = api.get(f"workflows/{made['workflow']}").json()
    expected = {
        "name": "film",
        "state": "pending",
        "priority": 3,
        "labels": {"film": "7"},
        "counts": {"queued": 1, "blocked": 4},
        "jobs": 5,
        "percent": 0.0,
        "generation": 1,
        "more": False,
        "payload_hidden": False,
        "project": str(queue.project_id),
    }
    assert {name: seen[name] for name in expected} == expected
    listed = api.get(place).json()["results"]
    assert listed == [{name: seen[name] for name in listed[0]}]
    assert {
        one["id"] for one in api.get(f"jobs?project={queue.project_id}&workflow={seen['id']}").json()["results"]
    } == {one["id"] for one in seen["steps"]}


def test_the_graph_is_laid_out_in_layers(api, place):
    made = api.post(place, NEW).json()
    seen = api.get(f"workflows/{made['workflow']}").json()
    ids = {one["name"]: one["id"] for one in made["jobs"]}
    assert {one["name"]: (one["layer"], one["column"]) for one in seen["steps"]} == {
        "script": (0, 0),
        "voice": (1, 0),
        "images": (1, 1),
        "video": (2, 1),
        "compositing": (3, 0),
    }
    assert sorted((one["parent"], one["child"]) for one in seen["edges"]) == sorted(
        (ids[parent], ids[child]) for child, parents in DIAMOND.items() for parent in parents
    )


def test_steps_tell_how_far_they_are_and_what_they_answered(api, queue, session):
    film = begin(queue)
    finish(session, take_one(session, queue), result='{"words": 412}')
    finish(session, take_one(session, queue), outcome="permanent_error", error_class="OSError", error_message="No.")
    take_one(session, queue)
    seen = {one["name"]: one for one in api.get(f"workflows/{film.pk}").json()["steps"]}
    assert (seen["script"]["state"], seen["script"]["result"]) == ("completed", {"words": 412})
    assert (seen["voice"]["state"], seen["voice"]["last_error"]) == ("dead_letter", "OSError: No.")
    assert (seen["images"]["state"], seen["images"]["attempt"]) == ("running", 1)
    assert seen["images"]["elapsed_seconds"] >= 0
    assert (seen["compositing"]["state"], seen["compositing"]["reason"]) == ("cancelled", "parent_failed")
    assert seen["video"]["pending_parents"] == 1


def test_a_step_that_is_retried_begins_without_the_error_it_had(api, queue, session):
    film = begin(queue)
    finish(session, take_one(session, queue))
    finish(session, take_one(session, queue), outcome="permanent_error", error_class="OSError", error_message="No.")
    api.post(f"workflows/{film.pk}/retry")
    seen = {one["name"]: one for one in api.get(f"workflows/{film.pk}").json()["steps"]}
    assert (seen["voice"]["state"], seen["voice"]["last_error"]) == ("queued", None)


def test_results_are_hidden_from_a_role_that_may_not_see_payloads(api, queue, session, organization):
    film = begin(queue)
    finish(session, take_one(session, queue), result='"secret"')
    queue.hide_payloads_below = Role.MEMBER
    queue.save()
    for who, hidden in ((someone(organization, Role.VIEWER), True), (api, False)):
        seen = who.get(f"workflows/{film.pk}").json()
        assert seen["payload_hidden"] == hidden
        assert seen["steps"][0]["result"] == (None if hidden else "secret")


def test_verbs_answer_with_the_workflow_as_it_is_now(api, queue, session):
    film = begin(queue)
    at = f"workflows/{film.pk}"
    paused = api.post(f"{at}/pause", {"reason": "the customer asked"}).json()
    assert (paused["state"], paused["counts"]) == ("paused", {"paused": 5})
    assert api.post(f"{at}/resume").json()["state"] == "pending"
    assert api.post(f"{at}/priority", {"priority": 9}).json()["priority"] == 9
    for verb, body in (("move", {"to": "top"}), ("run-next", {})):
        assert api.post(f"{at}/{verb}", body).status_code == 200
    problem(api.post(f"{at}/retry"), 409, "illegal_move")
    work(session, queue, fail=["script"])
    assert api.get(at).json()["state"] == "failed"
    assert api.post(f"{at}/retry").json()["state"] == "running"
    assert api.post(f"{at}/cancel").json()["state"] == "cancelled"
    problem(api.post(f"{at}/cancel"), 409, "illegal_move")
    assert pointers(api.post(f"{at}/move", {"to": "moon"})) == ["#/to"]
    assert pointers(api.post(f"{at}/priority", {})) == ["#/priority"]


def test_a_cycle_is_named_with_its_path(api, place):
    jobs = [{"name": name, "queue": "images", "type": "x", "depends_on": [waits]} for name, waits in ("ac", "ba", "cb")]
    refused = problem(api.post(place, {"jobs": jobs}), 400, "bad_input")
    assert refused["errors"] == [
        {"pointer": "#/jobs/0/depends_on", "detail": "These jobs wait for each other: a → b → c → a."}
    ]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/jobs"),
        ({"jobs": {}}, "#/jobs"),
        ({"jobs": []}, "#/jobs"),
        ({"jobs": [1]}, "#/jobs/0"),
        ({"jobs": [{"name": "a", "queue": "images"}]}, "#/jobs/0/type"),
        ({"jobs": [{"name": "a", "queue": "elsewhere", "type": "x"}]}, "#/jobs/0/queue"),
        ({"jobs": [{"name": "a", "queue": ["images"], "type": "x"}]}, "#/jobs/0/queue"),
        ({"jobs": [{"name": "a", "queue": "images", "type": "x", "nope": 1}]}, "#/jobs/0/nope"),
        ({"jobs": [{"name": "a", "queue": "images", "type": "x", "depends_on": [[]]}]}, "#/jobs/0/depends_on/0"),
        ({"jobs": [{"name": "a", "queue": "images", "type": "x", "payload": "\0"}]}, "#/jobs/0/payload"),
        ({**NEW, "name": 5}, "#/name"),
        ({**NEW, "name": "a\0"}, "#/name"),
        ({**NEW, "labels": {"a": 1}}, "#/labels/a"),
        ({**NEW, "project": "x"}, "#/project"),
    ],
)
def test_a_fault_is_pointed_at_and_nothing_is_made(api, place, body, pointer):
    assert pointers(api.post(place, body)) == [pointer]
    assert (Job.objects.count(), Workflow.objects.count()) == (0, 0)


def test_a_key_makes_one_workflow(api, place):
    first, second = (api.post(place, NEW, key="k") for _ in range(2))
    assert (first.status_code, second.status_code, second["Idempotency-Replayed"]) == (201, 200, "true")
    assert first.json() == second.json()
    assert (Workflow.objects.count(), Job.objects.count()) == (1, 5)
    problem(api.post(place, {**NEW, "name": "other"}, key="k"), 409, "idempotency_mismatch")


def test_the_list_is_walked_both_ways(api, place, queue):
    made = [str(begin(queue, {"a": []}).pk) for _ in range(5)]
    first = api.get(f"{place}?limit=2").json()
    second = api.get(first["next"].partition(BASE)[2]).json()
    assert [one["id"] for page in (first, second) for one in page["results"]] == made[::-1][:4]
    assert api.get(second["previous"].partition(BASE)[2]).json()["results"] == first["results"]


def test_a_very_long_one_is_shown_from_its_beginning_and_says_so(api, queue, monkeypatch):
    monkeypatch.setattr(reads, "STEPS_MAX", 3)
    film = begin(queue)
    seen = api.get(f"workflows/{film.pk}").json()
    assert (seen["more"], [one["name"] for one in seen["steps"]]) == (True, ["script", "voice", "images"])
    assert all(edge["child"] in {one["id"] for one in seen["steps"]} for edge in seen["edges"])


def test_a_job_joins_by_its_field(api, queue, jobs):
    film = begin(queue, {"a": []})
    made = api.post(jobs, {"type": "ping", "workflow": str(film.pk), "depends_on": [str(step(film, "a"))]}).json()
    assert made["state"] == "blocked"
    steps = api.get(f"workflows/{film.pk}").json()["steps"]
    assert [(one["name"], one["layer"]) for one in steps] == [("a", 0), (None, 1)]
    assert pointers(api.post(jobs, {"type": "ping", "workflow": made["id"]})) == ["#/workflow"]


def test_jobs_of_ids_in_another_project_are_refused(api, queue):
    body = {"jobs": jobs_of(queue, {"a": []})}
    problem(api.post(f"projects/{queue.pk}/workflows", body), 404)


@pytest.mark.parametrize("scope", ["submit", "operate"])
def test_a_token_that_may_not_reserve_makes_none_of_a_worker_of_its_own(organization, place, queue, scope):
    api, _ = token_of(MembershipFactory.create(organization=organization, role=Role.OWNER), scope)
    problem(api.post(place, {**NEW, "dedicated": True}), 403, "forbidden")
    problem(someone(organization, Role.MEMBER).post(place, {**NEW, "dedicated": True}), 403, "forbidden")
    assert not Workflow.objects.exists()
