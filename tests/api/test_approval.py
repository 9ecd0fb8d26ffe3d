"""Approval over HTTP: what waits for a person, what is answered and what is refused."""

import pytest

from apps.accounts.models import Role
from tests import acts
from tests.api.caller import pointers, problem, someone

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(api, jobs):
    answer = api.post(jobs, {"type": "ping", "requires_approval": True}).json()
    assert answer["state"] == "awaiting_approval"
    return answer["id"]


def test_a_job_is_approved(api, waiting):
    shown = api.get(f"jobs/{waiting}").json()
    assert (shown["requires_approval"], shown["approval"]) == (True, None)
    assert shown["why_waiting"]["gates"][0]["code"] == "approval"
    assert api.post(f"jobs/{waiting}/approve", {"note": "fine"}).json()["state"] == "queued"
    decided = api.get(f"jobs/{waiting}").json()["approval"]
    assert (decided["decision"], decided["note"], decided["asked_at"]) == ("approved", "fine", None)
    assert decided["by"]
    assert decided["at"].endswith("Z")


def test_a_job_is_rejected_with_a_note(api, waiting):
    answer = api.post(f"jobs/{waiting}/reject", {"note": "no"}).json()
    assert (answer["state"], answer["reason"]) == ("cancelled", "rejected")
    decided = api.get(f"jobs/{waiting}").json()["approval"]
    assert (decided["decision"], decided["note"]) == ("rejected", "no")


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_what_was_decided_is_a_conflict_that_names_the_state(verb, api, waiting):
    api.post(f"jobs/{waiting}/approve")
    assert "queued" in problem(api.post(f"jobs/{waiting}/{verb}"), 409, "illegal_move")["detail"]


@pytest.mark.parametrize("verb", ["approve", "reject"])
@pytest.mark.parametrize("body", [{"note": 5}, {"note": "x" * 1001}, {"note": "a\0b"}, {"why": "x"}])
def test_a_note_is_a_text(verb, body, api, waiting):
    assert pointers(api.post(f"jobs/{waiting}/{verb}", body)) == [f"#/{next(iter(body))}"]


def test_viewers_look_and_members_decide(organization, viewer, waiting):
    problem(viewer.post(f"jobs/{waiting}/approve"), 403)
    assert someone(organization, Role.MEMBER).post(f"jobs/{waiting}/approve").status_code == 200


def test_what_a_handler_asks_about_is_shown_where_payloads_are(api, viewer, queue, session):
    job_id = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="needs_approval", result='{"draft": 1}')
    api.patch(f"projects/{queue.project_id}", {"hide_payloads_below": "member"})
    shown = api.get(f"jobs/{job_id}").json()
    assert (shown["state"], shown["result"]) == ("awaiting_approval", {"draft": 1})
    assert shown["approval"]["asked_at"].endswith("Z")
    assert shown["attempts"][0]["outcome"] == "needs_approval"
    assert viewer.get(f"jobs/{job_id}").json()["result"] is None
    assert api.post(f"jobs/{job_id}/retry").json()["state"] == "queued"
    assert api.get(f"jobs/{job_id}").json()["result"] is None
