"""The same request at the same moment, on real connections."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import Idempotency, Organization, Role
from apps.audit.models import Entry
from apps.jobs.models import Job
from apps.queues.models import Queue
from tests import acts
from tests.api.caller import Api, login_of, problem
from tests.factories import MembershipFactory

AT_ONCE = 8


@pytest.fixture
def api(own_database, organization: Organization) -> Api:
    return login_of(MembershipFactory.create(organization=organization, role=Role.OWNER).user)


def together(call: Any) -> list[Any]:
    """Call from several threads at one moment, each on its own connection."""
    start = Barrier(AT_ONCE)

    def one(number: int) -> Any:
        start.wait()
        try:
            return call(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, range(AT_ONCE)))


def patiently(send: Any) -> Any:
    """Send again while told that the first is still running, as the answer asks."""
    while (answer := send()).status_code == 409 and answer.json()["code"] == "idempotency_in_flight":
        assert answer["Retry-After"] == "1"
        time.sleep(0.05)
    return answer


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("jobs", {"type": "echo"}),
        ("jobs", {"type": "echo", "unique_key": "u"}),
        ("jobs/batch", {"jobs": [{"type": "echo"}] * 50}),
    ],
)
def test_the_same_at_once_is_made_once(api, queue, path, body):
    answers = together(lambda _: patiently(lambda: api.post(f"queues/{queue.pk}/{path}", body, key="k")))
    assert sorted(answer.status_code for answer in answers) == [200] * (AT_ONCE - 1) + [201]
    assert sum("Idempotency-Replayed" in answer for answer in answers) == AT_ONCE - 1
    made = [answer.json() for answer in answers]
    assert all(one == made[0] for one in made)
    assert Job.objects.count() == (50 if path == "jobs/batch" else 1)


def test_a_queue_is_made_once_and_recorded_once(api, project):
    answers = together(lambda _: patiently(lambda: api.post(f"projects/{project.pk}/queues", {"name": "new"}, key="k")))
    assert sorted(answer.status_code for answer in answers) == [200] * (AT_ONCE - 1) + [201]
    assert Queue.objects.count() == 1
    assert Entry.objects.filter(action="queue.create").count() == 1


def test_without_a_key_the_name_is_taken_once(api, project):
    answers = together(lambda _: api.post(f"projects/{project.pk}/queues", {"name": "new"}))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * (AT_ONCE - 1)


def test_different_bodies_at_once_make_one_of_them(api, queue):
    answers = together(
        lambda n: patiently(lambda: api.post(f"queues/{queue.pk}/jobs", {"type": "echo", "priority": n}, key="k"))
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * (AT_ONCE - 1)
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"idempotency_mismatch"}
    assert Job.objects.count() == 1


def test_while_the_first_runs_the_second_is_told_to_come_again(api, queue, own_database):
    path = f"queues/{queue.pk}/jobs"
    with own_database.connect() as first:
        first.execute(
            "INSERT INTO accounts_idempotency (scope_id, endpoint, key, request_hash, created_at)"
            " VALUES (%s, 'queue-jobs', 'k', '', now())",
            (queue.pk,),
        )
        began = time.monotonic()
        second = api.post(path, {"type": "echo"}, key="k")
        assert time.monotonic() - began < 10
        assert problem(second, 409, "idempotency_in_flight")
        assert second["Retry-After"] == "1"
        assert not Job.objects.exists()
        first.rollback()
    assert api.post(path, {"type": "echo"}, key="k").status_code == 201
    assert Idempotency.objects.count() == 1


def test_what_was_made_and_pruned_since_is_gone(api, queue, session):
    path, body = f"queues/{queue.pk}/jobs", {"type": acts.PING}
    made = api.post(path, body, key="k").json()["id"]
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error")
    assert api.delete(f"dlq/{made}").status_code == 204
    problem(api.post(path, body, key="k"), 410, "gone")
