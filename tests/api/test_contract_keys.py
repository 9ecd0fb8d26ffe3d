"""Every POST that makes something makes it once per Idempotency-Key, and says so in the document."""

import pytest

from apps.accounts.models import Idempotency
from tests.api.caller import Api, problem
from tests.api.test_drawn import SCHEMA
from tests.api.test_roles import undone
from tests.api.world import ASKS, World

pytestmark = pytest.mark.django_db
MAKES = {route for (route, method), ask in ASKS.items() if method == "POST" and ask.status == 201}
# Their texts are told once; and a worker that begins again is meant to end its earlier session.
KEYLESS = {"auth-register", "org-tokens", "worker-sessions"}
OTHERWISE: dict[str, dict[str, object]] = {
    "orgs": {"name": "x"}, "org-members": {"role": "admin"}, "org-projects": {"name": "x"},
    "project-retry-policies": {"name": "x"}, "project-queues": {"name": "x"}, "queue-jobs": {"priority": 1},
    "queue-jobs-batch": {"on_error": "reject_all"}, "queue-schedules": {"name": "x"},
    "project-workflows": {"name": "x"}, "job-duplicate": {"priority": 1}, "reservations": {"worker": "x"},
}  # fmt: skip
KEYED = sorted(MAKES - KEYLESS) + ["schedule-run-now"]


def documented() -> set[str]:
    """What takes the header, as the document says."""
    operations = [one for methods in SCHEMA["paths"].values() for one in methods.values()]
    return {
        one["operationId"].removesuffix("-post")
        for one in operations
        if "Idempotency-Key" in [parameter["name"] for parameter in one.get("parameters", [])]
    }


def test_the_document_names_them_and_no_others():
    assert documented() == set(KEYED)


def test_the_first_answer_is_told_again_and_another_body_is_refused(api: Api, world: World, subtests):
    for route in KEYED:
        with subtests.test(route=route), undone():
            ask = ASKS[route, "POST"]
            path, body = ask.path(world), ask.said(world)
            first, again = (api.post(path, body, key="k") for _ in range(2))
            assert (first.status_code, again.status_code, again["Idempotency-Replayed"]) == (ask.status, 200, "true")
            assert "Idempotency-Replayed" not in first
            assert first.json() == again.json()
            assert Idempotency.objects.count() == 1
            if field := OTHERWISE.get(route):
                problem(api.post(path, {**body, **field}, key="k"), 409, "idempotency_mismatch")


def test_a_key_means_nothing_to_the_others(api: Api, world: World, subtests):
    for route in KEYLESS:
        with subtests.test(route=route), undone():
            ask = ASKS[route, "POST"]
            answer = api.post(ask.path(world), ask.said(world), key="k" * 999)
            assert (answer.status_code, "Idempotency-Replayed" in answer) == (201, False)
            assert not Idempotency.objects.exists()
