"""A POST with an Idempotency-Key makes its thing once, whoever sends it how often. Case H4: no key is ever cut."""

import secrets
from datetime import timedelta
from typing import Any

import pytest
from django.utils.timezone import now

from apps.accounts.models import Idempotency, Organization, Project, Role
from apps.audit.models import Entry
from apps.jobs.models import Batch, Job
from apps.queues.models import Queue, RetryPolicy
from tests.api.caller import pointers, problem, someone
from tests.factories import QueueFactory

pytestmark = pytest.mark.django_db
ASK = {"type": "echo", "payload": {"a": 1, "b": [1, 2]}}


def test_the_same_again_is_told_the_first_answer(api, jobs):
    first = api.post(jobs, ASK, key="k")
    again = api.post(jobs, b'{ "payload": {"b":[1.0,2], "a":1},\n"type":"echo"}', key="k")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert again.json() == first.json()
    assert Job.objects.count() == 1


def test_the_answer_is_the_thing_as_it_is_now(api, jobs):
    made = api.post(jobs, ASK, key="k").json()
    api.post(f"jobs/{made['id']}/cancel")
    assert api.post(jobs, ASK, key="k").json() == {**made, "state": "cancelled"}


def test_another_body_is_refused(api, jobs):
    api.post(jobs, ASK, key="k")
    problem(api.post(jobs, {**ASK, "priority": 1}, key="k"), 409, "idempotency_mismatch")
    assert Job.objects.count() == 1


def test_a_refused_request_does_not_use_up_its_key(api, jobs):
    assert pointers(api.post(jobs, {**ASK, "priority": "x"}, key="k")) == ["#/priority"]
    assert not Idempotency.objects.exists()
    assert api.post(jobs, ASK, key="k").status_code == 201


def test_a_key_counts_within_its_queue_and_its_endpoint(api, jobs, project):
    other = QueueFactory.create(project=project)
    made = [
        api.post(jobs, ASK, key="k").json()["id"],
        api.post(f"queues/{other.pk}/jobs", ASK, key="k").json()["id"],
        api.post(f"{jobs}/batch", {"jobs": [ASK]}, key="k").json()["jobs"][0]["id"],
    ]
    assert len(set(made)) == 3


def test_a_key_is_free_again_after_its_time(api, jobs):
    api.post(jobs, ASK, key="k")
    Idempotency.objects.update(created_at=now() - timedelta(hours=24, seconds=1))
    assert api.post(jobs, {**ASK, "priority": 1}, key="k").status_code == 201
    assert api.post(jobs, {**ASK, "priority": 1}, key="k").status_code == 200


def test_a_unique_keys_holder_is_what_was_made(api, jobs):
    first = api.post(jobs, {**ASK, "unique_key": "u"}).json()
    second = api.post(jobs, {**ASK, "unique_key": "u"}, key="k")
    assert (second.status_code, second.json()) == (200, {**first, "is_new": False})
    assert api.post(jobs, {**ASK, "unique_key": "u"}, key="k").json()["id"] == first["id"]


def test_a_batch_is_made_once(api, jobs):
    ask = {"jobs": [ASK, {**ASK, "unique_key": "u"}, {**ASK, "unique_key": "u"}]}
    first, again = api.post(f"{jobs}/batch", ask, key="k"), api.post(f"{jobs}/batch", ask, key="k")
    assert [one["is_new"] for one in first.json()["jobs"]] == [True, True, False]
    assert first.json()["jobs"][1]["id"] == first.json()["jobs"][2]["id"]
    assert [one["id"] for one in again.json()["jobs"]] == [one["id"] for one in first.json()["jobs"]]
    assert again.json()["batch"] == first.json()["batch"]
    assert (Job.objects.count(), Batch.objects.count()) == (2, 1)


def test_everything_that_is_made_is_made_once(api, organization, project):
    before = {model: model.objects.count() for model in (Organization, Project, Queue, RetryPolicy)}
    for path, model in (
        ("orgs", Organization),
        (f"orgs/{organization.pk}/projects", Project),
        (f"projects/{project.pk}/queues", Queue),
        (f"projects/{project.pk}/retry-policies", RetryPolicy),
    ):
        first, again = api.post(path, {"name": "new"}, key="k"), api.post(path, {"name": "new"}, key="k")
        assert (first.status_code, again.status_code) == (201, 200), again.content
        assert first.json() == again.json()
        assert model.objects.count() == before[model] + 1
    assert Entry.objects.filter(action__endswith=".create").count() == 4


def test_another_member_with_the_same_key_is_told_as_well(api, jobs, organization):
    made = api.post(jobs, ASK, key="k").json()
    assert someone(organization, Role.MEMBER).post(jobs, ASK, key="k").json()["id"] == made["id"]


@pytest.mark.parametrize("length", [1, 255])
def test_a_key_as_long_as_may_be_works(api, jobs, length):
    key = secrets.token_hex(128)[:length]
    assert api.post(jobs, ASK, key=key).status_code == 201
    assert api.post(jobs, ASK, key=key).status_code == 200
    assert Idempotency.objects.get().key == key


@pytest.mark.parametrize("length", [256, 2560, 3200, 8000])
def test_a_longer_key_is_refused_not_cut(api, jobs, length):
    key = secrets.token_hex(4000)[:length]
    assert pointers(api.post(jobs, ASK, key=key)) == ["Idempotency-Key"]
    assert pointers(api.post(jobs, {**ASK, "unique_key": key})) == ["#/unique_key"]
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("", "This is empty, or not ASCII: give 1 to 255 printable ASCII characters."),
        ("\x7f", "Only printable ASCII characters can stand in it."),
        ("schlüssel", "Only printable ASCII characters can stand in it."),
        ("k" * 256, "At most 255 characters; this has 256."),
    ],
)
def test_a_key_that_cannot_be_kept_as_it_is_is_refused_for_what_is_wrong_with_it(api, jobs, key, said):
    [fault] = problem(api.post(jobs, ASK, key=key), 400)["errors"]
    assert fault == {"pointer": "Idempotency-Key", "detail": said}


def test_two_keys_that_differ_in_their_last_letter_are_two(api, jobs):
    stem = secrets.token_hex(127)
    made = {api.post(jobs, ASK, key=f"{stem}{last}").json()["id"] for last in "ab"}
    assert len(made) == 2
    assert {api.post(jobs, {**ASK, "unique_key": f"{stem}{last}"}).json()["id"] for last in "ab"}.isdisjoint(made)


def test_a_key_on_what_makes_nothing_means_nothing(api, jobs):
    made: Any = api.post(jobs, ASK).json()
    assert api.post(f"jobs/{made['id']}/cancel", {}, key="k" * 999).status_code == 200
    assert not Idempotency.objects.exists()
