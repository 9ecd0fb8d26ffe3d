"""Batches over HTTP: sifted or whole, how far they are, and their cancel."""

from uuid import uuid4

import pytest

from apps.jobs.models import Batch, Job
from apps.jobs.services import complete_batches
from tests.acts import fall_silent, finish, take
from tests.api.caller import pointers, problem

pytestmark = pytest.mark.django_db


def test_it_tells_how_far_it_is_and_is_cancelled(api, jobs, queue, session):
    made = api.post(f"{jobs}/batch", {"jobs": [{"type": "ping"}] * 4, "on_complete": {"type": "publish"}}).json()
    at = f"batches/{made['batch']}"
    finish(session, *take(session, queue, limit=1))
    seen = api.get(at).json()
    expected = {"size": 4, "left": 3, "percent": 25.0, "counts": {"completed": 1, "queued": 3}, "completed_at": None}
    assert {name: seen[name] for name in expected} == expected
    assert seen["queue"] == str(queue.pk)
    assert seen["remaining_seconds"] >= 0
    ended = api.post(f"{at}/cancel").json()
    assert (ended["counts"], ended["percent"]) == ({"completed": 1, "cancelled": 3}, 100.0)
    assert ended["finished_at"] is not None
    problem(api.post(f"{at}/cancel"), 409, "illegal_move")
    complete_batches()
    follower = Job.objects.get(type="publish")
    assert api.get(at).json()["on_complete_job"] == str(follower.pk)


def test_a_sifted_call_names_what_is_wrong_by_its_place(api, jobs):
    asked = [
        {"type": "ping"},
        {"type": "ping", "priority": "x"},
        {"type": "a"},
        {"type": "a", "depends_on": [str(uuid4())]},
    ]
    answer = api.post(f"{jobs}/batch", {"jobs": asked, "on_error": "reject_item"})
    body = answer.json()
    assert answer.status_code == 202
    assert [one["type"] for one in body["jobs"]] == ["ping", "a"]
    assert [one["index"] for one in body["rejected"]] == [1, 3]
    assert body["rejected"][0]["error"] == {
        "code": "bad_input",
        "detail": "#/jobs/1/priority: This must be a whole number.",
        "errors": [{"pointer": "#/jobs/1/priority", "detail": "This must be a whole number."}],
    }
    assert Batch.objects.get(pk=body["batch"]).size == 2


def test_a_sifted_call_is_made_once_per_key_and_told_again(api, jobs):
    asked = {"jobs": [{"type": "ping"}, {"kind": "ping"}, {"type": "a", "depends_on": [str(uuid4())]}]}
    asked["on_error"] = "reject_item"  # type: ignore[assignment]
    first, second = (api.post(f"{jobs}/batch", asked, key="k") for _ in range(2))
    assert (first.status_code, second.status_code, second["Idempotency-Replayed"]) == (202, 200, "true")
    for name in ("batch", "jobs"):
        assert first.json()[name] == second.json()[name]
    assert first.json()["rejected"][0] == second.json()["rejected"][0]
    assert [one["index"] for one in second.json()["rejected"]] == [1, 2]
    assert Job.objects.count() == 1


def test_a_worker_that_is_away_rejects_its_job_alone_and_says_so_again(api, jobs, session):
    worker = session.worker.uid
    fall_silent(session)
    asked = {"jobs": [{"type": "a"}, {"type": "a", "required_worker": worker}], "on_error": "reject_item"}
    first, second = (api.post(f"{jobs}/batch", asked, key="k") for _ in range(2))
    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json() == second.json()
    [rejected] = first.json()["rejected"]
    assert (rejected["index"], rejected["error"]["code"]) == (1, "worker_unavailable")
    assert [one["pointer"] for one in rejected["error"]["errors"]] == ["#/jobs/1/required_worker"]


def test_where_all_are_rejected_there_is_no_batch(api, jobs):
    answers = [api.post(f"{jobs}/batch", {"jobs": [{}], "on_error": "reject_item"}, key="k") for _ in range(2)]
    assert [one.status_code for one in answers] == [202, 200]
    assert answers[0].json() == answers[1].json()
    assert (answers[0].json()["batch"], answers[0].json()["jobs"]) == (None, [])


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"on_error": "ignore"}, "#/on_error"),
        ({"on_complete": 5}, "#/on_complete"),
        ({"on_complete": {"type": "x", "payload": 5}}, "#/on_complete/payload"),
        ({"on_complete": {}}, "#/on_complete/type"),
    ],
)
def test_a_fault_of_the_call_is_pointed_at(api, jobs, more, pointer):
    assert pointers(api.post(f"{jobs}/batch", {"jobs": [{"type": "ping"}], **more})) == [pointer]
    assert not Job.objects.exists()
