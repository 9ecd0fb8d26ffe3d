"""Jobs that run once more, over HTTP: duplicates, and dead letters with another payload or many at once."""

import pytest

from apps.accounts.models import Role
from apps.jobs.models import Job
from tests import acts
from tests.api.caller import pointers, problem, someone, stranger
from tests.jobs.looks import fail_for_good

pytestmark = pytest.mark.django_db


@pytest.fixture
def dead(queue, session):
    job_id = acts.enqueue(queue, payload='{"path": "a.pgn"}')
    fail_for_good(session, queue, job_id)
    return job_id


# Duplicate


def test_a_copy_is_answered_and_says_where_it_is(api, dead):
    answer = api.post(f"jobs/{dead}/duplicate", {"payload": {"path": "a.png"}, "priority": 7})
    assert answer.status_code == 201
    made = answer.json()
    assert (made["state"], made["priority"]) == ("queued", 7)
    assert answer["Location"] == f"/api/v1/jobs/{made['id']}"
    assert api.get(f"jobs/{made['id']}").json()["payload"] == {"path": "a.png"}
    assert api.get(f"jobs/{dead}").json()["state"] == "dead_letter"


def test_with_a_key_there_is_one_copy(api, dead):
    first, again = (api.post(f"jobs/{dead}/duplicate", {"priority": 3}, key="k") for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    assert again["Location"] == first["Location"]
    problem(api.post(f"jobs/{dead}/duplicate", {"priority": 4}, key="k"), 409, "idempotency_mismatch")
    assert Job.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"payload": "a\0"}, "#/payload"),
        ({"payload": "x" * 300_000}, "#/payload"),
        ({"priority": 5000}, "#/priority"),
        ({"run_at": "tomorrow"}, "#/run_at"),
        ({"unique_key": "k"}, "#/unique_key"),
        ({"type": "pong"}, "#/type"),
    ],
)
def test_what_a_copy_may_not_be_is_named(body, pointer, api, dead):
    assert pointers(api.post(f"jobs/{dead}/duplicate", body)) == [pointer]
    assert Job.objects.count() == 1


# Replay with another payload


@pytest.mark.parametrize("path", ["jobs/{}/replay", "dlq/{}/replay"])
def test_a_dead_letter_is_replayed_with_another_payload_and_keeps_the_old_one(path, api, viewer, queue, dead):
    assert api.post(path.format(dead), {"payload": {"path": "a.png"}}).json()["state"] == "queued"
    shown = api.get(f"jobs/{dead}").json()
    assert shown["payload"] == {"path": "a.png"}
    [earlier] = shown["earlier_payloads"]
    assert earlier["payload"] == {"path": "a.pgn"}
    assert earlier["by"]
    assert earlier["replaced_at"].endswith("Z")
    api.patch(f"projects/{queue.project_id}", {"hide_payloads_below": "member"})
    assert viewer.get(f"jobs/{dead}").json()["earlier_payloads"] == []
    problem(api.post(path.format(dead), {"payload": 1}), 409, "illegal_move")


@pytest.mark.parametrize("payload", ["a\0", "x" * 300_000])
def test_a_payload_that_could_not_be_submitted_is_named(payload, api, dead):
    assert pointers(api.post(f"jobs/{dead}/replay", {"payload": payload})) == ["#/payload"]
    assert api.get(f"jobs/{dead}").json()["state"] == "dead_letter"


def test_viewers_and_strangers_replay_nothing(organization, viewer, dead):
    problem(viewer.post(f"jobs/{dead}/replay"), 403)
    problem(stranger().post(f"jobs/{dead}/replay"), 404)
    assert someone(organization, Role.MEMBER).post(f"jobs/{dead}/replay").status_code == 200


# Many


def test_a_queue_is_replayed_and_says_what_it_left(api, queue, session, dead):
    parent = acts.enqueue(queue)
    child = acts.enqueue(queue, depends_on=[parent])
    fail_for_good(session, queue, parent)
    answer = api.post(f"queues/{queue.pk}/dlq/replay", {"limit": 10, "rate_per_second": 5}).json()
    assert answer == {"replayed": 1, "skipped": [str(parent)], "full": False, "more": False, "upto": str(parent)}
    left = problem(api.post(f"jobs/{parent}/replay"), 409, "not_replayable")
    assert left["descendants"] == [str(child)]
    api.post(f"jobs/{parent}/replay", {"revive_descendants": True})
    assert api.get(f"jobs/{child}").json()["state"] == "blocked"


# What a generation knows of the one before


def test_the_error_of_the_life_before_is_history_and_not_its_last(api, dead, queue, session):
    place = f"jobs?queue={queue.pk}"
    before = api.get(f"jobs/{dead}").json()["last_error"]
    assert before
    for act in (lambda: api.post(f"jobs/{dead}/replay"), lambda: acts.take_one(session, queue)):
        act()
        shown = api.get(f"jobs/{dead}").json()
        assert shown["last_error"] is None
        assert [one["last_error"] for one in api.get(place).json()["results"]] == [None]
        first, *now = [(one["generation"], one["outcome"]) for one in shown["attempts"]]
        assert first == (1, "permanent_error")
        assert now == ([(2, None)] if shown["state"] == "running" else [])


def test_an_error_since_the_replay_is_its_last(api, dead, queue, session):
    api.post(f"jobs/{dead}/replay")
    acts.finish(session, acts.take_one(session, queue), outcome="retryable_error", error_class="TimeoutError")
    assert api.get(f"jobs/{dead}").json()["last_error"] == "TimeoutError"
    assert [one["last_error"] for one in api.get(f"jobs?queue={queue.pk}").json()["results"]] == ["TimeoutError"]
    line = api.get(f"projects/{queue.project_id}/line").json()
    assert [one["job"]["last_error"] if "job" in one else one["last_error"] for one in line["pending"]] == [
        "TimeoutError"
    ]


# max_snoozes


@pytest.mark.parametrize("most", [0, 7, 1000])
def test_a_job_says_how_often_it_may_put_itself_off(most, api, jobs):
    made = api.post(jobs, {"type": "ping", "max_snoozes": most}).json()["id"]
    assert api.get(f"jobs/{made}").json()["max_snoozes"] == most
    batch = {"jobs": [{"type": "ping", "max_snoozes": most}, {"type": "ping"}]}
    first, second = (one["id"] for one in api.post(f"{jobs}/batch", batch).json()["jobs"])
    assert [api.get(f"jobs/{one}").json()["max_snoozes"] for one in (first, second)] == [most, 100]


@pytest.mark.parametrize("most", [-1, 1001, "5", True, 1.5])
def test_a_number_of_snoozes_that_makes_no_sense_is_named(most, api, jobs):
    assert pointers(api.post(jobs, {"type": "ping", "max_snoozes": most})) == ["#/max_snoozes"]


def test_a_job_that_may_not_be_put_off_is_a_dead_letter_when_it_asks(api, jobs, queue, session):
    made = api.post(jobs, {"type": "ping", "max_snoozes": 0}).json()["id"]
    acts.finish(session, acts.take_one(session, queue), outcome="snoozed", delay_ms=1000)
    assert api.get(f"jobs/{made}").json()["reason"] == "snoozes_exhausted"
