"""Order and pauses over HTTP: what is answered, what is refused and how it is named."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone

from apps.audit.models import Entry
from apps.jobs.models import Job
from apps.queues.models import PausedType
from tests import acts
from tests.api.caller import problem

pytestmark = pytest.mark.django_db


def line():
    return list(Job.objects.filter(state="queued").order_by("rank", "id").values_list("pk", flat=True))


def test_verbs_answer_with_the_job_as_it_is_now(api, queue):
    job_id, other = acts.enqueue(queue), acts.enqueue(queue)
    at = f"jobs/{other}"
    assert api.post(f"{at}/pause", {"reason": "x"}).json()["state"] == "paused"
    assert api.post(f"{at}/pause").json()["state"] == "paused"  # again: nothing to do
    assert api.post(f"{at}/resume").json()["state"] == "queued"
    assert api.post(f"{at}/priority", {"priority": 5}).json()["priority"] == 5
    assert line() == [other, job_id]
    assert api.post(f"{at}/priority", {"priority": 0}).status_code == 200
    assert api.post(f"{at}/move", {"to": "up"}).json()["id"] == str(other)
    assert line() == [other, job_id]
    late = api.post(f"{at}/reschedule", {"run_at": "2099-01-01T00:00:00Z"}).json()
    assert (late["state"], late["run_at"]) == ("scheduled", "2099-01-01T00:00:00Z")
    assert api.post(f"{at}/run-next").json()["state"] == "queued"
    assert line() == [other, job_id]
    actions = list(Entry.objects.filter(target_id=str(other)).order_by("id").values_list("action", flat=True))
    verbs = ["pause", "resume", "priority", "priority", "move", "reschedule", "run_next"]
    assert actions == [f"job.{verb}" for verb in verbs]


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("pause", {}),
        ("resume", {}),
        ("priority", {"priority": 1}),
        ("move", {"to": "top"}),
        ("reschedule", {"delay_seconds": 1}),
        ("run-next", {}),
    ],
)
def test_a_conflict_names_the_state(verb, body, api, queue, session):
    job_id = acts.enqueue(queue)
    acts.take_one(session, queue)
    refused = problem(api.post(f"jobs/{job_id}/{verb}", body), 409, "illegal_move")
    assert refused["detail"].endswith("running.")


@pytest.mark.parametrize(
    ("verb", "body", "pointer"),
    [
        ("priority", {"priority": 1001}, "#/priority"),
        ("priority", {"priority": -2147483648}, "#/priority"),
        ("priority", {"priority": "5"}, "#/priority"),
        ("priority", {}, "#/priority"),
        ("move", {"to": "left"}, "#/to"),
        ("reschedule", {}, "#/run_at"),
        ("reschedule", {"run_at": "2099-01-01T00:00:00Z", "delay_seconds": 1}, "#/run_at"),
        ("reschedule", {"run_at": "2099-01-01T00:00:00"}, "#/run_at"),
        ("reschedule", {"run_at": "9999-12-31T00:00:00Z"}, "#/run_at"),
        ("reschedule", {"delay_seconds": 10**12}, "#/delay_seconds"),
        ("pause", {"reason": "x" * 256}, "#/reason"),
        ("run-next", {"to": "top"}, "#/to"),
    ],
)
def test_a_fault_is_pointed_at(verb, body, pointer, api, queue):
    job_id = acts.enqueue(queue)
    refused = problem(api.post(f"jobs/{job_id}/{verb}", body), 400)
    assert [error["pointer"] for error in refused["errors"]] == [pointer]
    assert not Entry.objects.filter(target_id=str(job_id)).exists()


def test_a_type_is_paused_listed_and_resumed(api, queue, session):
    at = f"projects/{queue.project_id}"
    end = (timezone.now() + timedelta(hours=1)).isoformat()
    acts.enqueue(queue)
    made = api.post(f"{at}/types/ping/pause", {"reason": "wrong model", "until": end}).json()
    assert (made["type"], made["reason"], made["by"]) == ("ping", "wrong model", Entry.objects.get().actor)
    assert api.get(f"{at}/paused-types").json()["results"] == [made]
    assert acts.take(session, queue) == []
    assert api.post(f"{at}/types/ping/resume").json() == {"type": "ping", "was_paused": True}
    assert api.post(f"{at}/types/ping/resume").json() == {"type": "ping", "was_paused": False}
    assert len(acts.take(session, queue)) == 1
    refused = problem(api.post(f"{at}/types/{'x' * 129}/pause"), 400)
    assert [error["pointer"] for error in refused["errors"]] == ["#/type"]
    problem(api.post(f"{at}/types/ping/pause", {"until": "2001-01-01T00:00:00Z"}), 400)


@pytest.mark.parametrize("type", ["image/thumbnail", "a/pause", "a/resume", "/", "a b/ü?"])
def test_a_type_with_slashes_is_paused_by_its_name(api, queue, type):
    at = f"projects/{queue.project_id}/types"
    assert api.post(f"{at}/{quote(type)}/pause").json()["type"] == type
    assert PausedType.objects.get().type == type
    assert api.post(f"{at}/{quote(type, safe='')}/resume").json() == {"type": type, "was_paused": True}


def test_a_queue_says_who_paused_it_why_and_until_when(api, queue):
    end = "2099-01-01T00:00:00Z"
    told = api.post(f"queues/{queue.pk}/pause", {"reason": "lunch", "until": end}).json()["paused"]
    assert (told["reason"], told["until"], told["by"]) == ("lunch", end, Entry.objects.get().actor)
    assert api.get(f"queues/{queue.pk}").json()["paused"] == told
    assert api.post(f"queues/{queue.pk}/resume").json()["paused"] is None
    for until in ("2001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"):
        problem(api.post(f"queues/{queue.pk}/pause", {"until": until}), 400)
