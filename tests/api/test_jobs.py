"""One job through the API, from its submission to its end and back."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils.dateparse import parse_datetime

from apps.accounts.models import Role
from apps.audit.models import Entry
from apps.jobs.api import shown
from apps.jobs.selectors.why import why_waiting
from apps.jobs.serializers.bodies import JobFields
from apps.jobs.services.check import _RULES
from tests import acts
from tests.api.caller import pointers, problem, someone
from tests.factories import RetryPolicyFactory

pytestmark = pytest.mark.django_db


def test_the_schema_names_the_fields_that_are_checked():
    assert set(JobFields().fields) == set(_RULES)


WHOLE = {
    "type": "second",
    "payload": ["x", None, {"y": "€"}],
    "priority": -7,
    "timeout_ms": 1234,
    "max_losses": 2,
    "on_parent_failure": "run",
    "unique_key": "u",
    "labels": {"album": "2027"},
}


def test_every_field_arrives(api, jobs, project, queue):
    policy = RetryPolicyFactory.create(project=project, name="patient", max_attempts=9)
    parent = api.post(jobs, {"type": "first"}).json()["id"]
    made = api.post(jobs, {**WHOLE, "delay_seconds": 90.5, "retry_policy": "patient", "depends_on": [parent]}).json()
    assert made["state"] == "blocked"
    seen = api.get(f"jobs/{made['id']}").json()
    expected = {
        **WHOLE,
        "retry_policy": str(policy.pk),
        "max_attempts": 9,
        "pending_parents": 1,
        "parents": [{"id": parent, "type": "first", "state": "queued"}],
        "queue": str(queue.pk),
        "queue_name": queue.name,
        "attempts": [],
        "lease": None,
        "position": None,
    }
    assert {name: seen[name] for name in expected} == expected
    assert [one["id"] for one in api.get(f"jobs/{parent}").json()["children"]] == [made["id"]]


def test_a_delay_counts_from_the_submission(api, jobs):
    made = api.post(jobs, {"type": "echo", "delay_seconds": 90.5}).json()
    seen = api.get(f"jobs/{made['id']}").json()
    run_at, created_at = parse_datetime(seen["run_at"]), parse_datetime(seen["created_at"])
    assert run_at
    assert created_at
    assert run_at - created_at == timedelta(seconds=90.5)


def test_a_time_with_any_offset_is_answered_in_utc(api, jobs):
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    asked = (later + timedelta(hours=5, minutes=30)).strftime("%Y-%m-%dT%H:%M:%S+05:30")
    made = api.post(jobs, {"type": "echo", "run_at": asked}).json()
    assert api.get(f"jobs/{made['id']}").json()["run_at"] == later.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_running_job_shows_its_lease_progress_and_fence_as_text(api, queue, session):
    job = acts.enqueue(queue)
    taken = acts.take_one(session, queue)
    seen = api.get(f"jobs/{job}").json()
    assert seen["state"] == "running"
    assert seen["lease"]["fence"] == str(taken.fence)
    assert seen["lease"]["worker"] == session.worker.uid
    assert seen["elapsed_seconds"] >= 0
    [worker] = api.get(f"workers?queue={queue.pk}").json()["results"]
    assert (worker["uid"], worker["state"], worker["held_jobs"]) == (session.worker.uid, "live", 1)


def test_attempts_come_with_their_logs(api, queue, session):
    job = acts.enqueue(queue)
    taken = acts.take_one(session, queue)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO jobs_log (job_id, fence, at, line, attempt, level, message)"
            " VALUES (%s, %s, clock_timestamp(), %s, 1, 'info', %s)",
            [(job, taken.fence, line, f"line {line}") for line in range(1, 6)],
        )
    acts.finish(session, taken, outcome="permanent_error", error_class="OSError", error_message="gone", traceback="T")
    seen = api.get(f"jobs/{job}").json()
    assert (seen["state"], seen["reason"], seen["last_error"]) == ("dead_letter", "permanent_error", "OSError: gone")
    [attempt] = seen["attempts"]
    assert (attempt["outcome"], attempt["traceback"], attempt["worker"]) == ("permanent_error", "T", session.worker.uid)
    assert [line["message"] for line in attempt["logs"]] == [f"line {n}" for n in range(1, 6)]
    page = api.get(f"jobs/{job}/logs?limit=2").json()
    lines = page["results"]
    while page["next"]:
        page = api.get(f"jobs/{job}/logs?limit=2&after={page['next']}").json()
        lines += page["results"]
    assert [line["line"] for line in lines] == [1, 2, 3, 4, 5]
    assert pointers(api.get(f"jobs/{job}/logs?after=1.x")) == ["?after"]


def test_a_waiting_job_is_cancelled_at_once_and_a_running_one_is_asked(api, queue, session):
    waiting, running = acts.enqueue(queue, delay_ms=60_000), acts.enqueue(queue)
    acts.take_one(session, queue)
    gone = api.post(f"jobs/{waiting}/cancel").json()
    asked = api.post(f"jobs/{running}/cancel").json()
    assert (gone["state"], gone["cancelling"], gone["reason"]) == ("cancelled", False, "cancelled")
    assert (asked["state"], asked["cancelling"], asked["cancel_requested"]) == ("running", True, True)
    forced = api.post(f"jobs/{running}/cancel", {"force": True}).json()
    assert (forced["state"], forced["cancelling"]) == ("cancelled", False)
    problem(api.post(f"jobs/{running}/cancel"), 409, "illegal_move")
    assert pointers(api.post(f"jobs/{running}/cancel", {"force": "yes"})) == ["#/force"]


def test_a_job_that_waits_is_run_now(api, queue, session):
    job = acts.enqueue(queue, delay_ms=60_000)
    assert api.post(f"jobs/{job}/retry").json()["state"] == "queued"
    problem(api.post(f"jobs/{job}/retry"), 409, "illegal_move")


def test_a_dead_letter_runs_again(api, queue, session):
    job = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error", error_class="OSError")
    problem(api.post(f"jobs/{acts.enqueue(queue)}/replay"), 409, "illegal_move")
    assert api.post(f"jobs/{job}/replay").json()["state"] == "queued"
    seen = api.get(f"jobs/{job}").json()
    assert (seen["generation"], len(seen["attempts"])) == (2, 1)


def test_a_queues_dead_letters_run_again_together(api, queue, session):
    dead = [str(acts.enqueue(queue)) for _ in range(3)]
    acts.finish(session, *acts.take(session, queue), outcome="permanent_error", error_class="OSError")
    path = f"queues/{queue.pk}/dlq/replay"
    none = {"skipped": [], "full": False, "more": False}
    assert api.post(path, {"error_class": "ValueError"}).json() == {"replayed": 0, **none, "upto": None}
    two = {"replayed": 2, **none, "more": True, "upto": dead[1]}
    assert api.post(path, {"limit": 2, "rate_per_second": 0.5}).json() == two
    assert api.post(path, {"after": dead[2]}).json() == {"replayed": 0, **none, "upto": dead[2]}
    states = [row["state"] for row in api.get(f"jobs?queue={queue.pk}").json()["results"]]
    assert sorted(states) == ["dead_letter", "queued", "scheduled"]
    for bad in ({"limit": 0}, {"limit": 1001}, {"rate_per_second": 0}, {"rate_per_second": "1"}):
        assert pointers(api.post(path, bad)) == [f"#/{next(iter(bad))}"]


def test_a_queue_with_jobs_stays_and_says_how_many(api, queue, session):
    acts.enqueue(queue)
    acts.enqueue(queue, delay_ms=60_000)
    assert problem(api.delete(f"queues/{queue.pk}"), 409, "in_use")["counts"] == {"queued": 1, "scheduled": 1}
    assert api.post(f"queues/{queue.pk}/purge").json() == {"cancelled": 1}
    api.post(f"jobs/{api.get(f'jobs?queue={queue.pk}&state=scheduled').json()['results'][0]['id']}/cancel")
    assert api.delete(f"queues/{queue.pk}").status_code == 204
    problem(api.get(f"queues/{queue.pk}"), 404)


def test_a_queue_pauses_and_resumes_on_record(api, queue):
    until = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    paused = api.post(f"queues/{queue.pk}/pause", {"reason": "fire", "until": until}).json()["paused"]
    assert (paused["reason"], paused["until"]) == ("fire", until)
    assert pointers(api.post(f"queues/{queue.pk}/pause", {"until": "2020-01-01T00:00:00Z"})) == ["#/until"]
    assert api.post(f"queues/{queue.pk}/resume").json()["paused"] is None
    entries = Entry.objects.filter(target_id=queue.pk).order_by("id")
    assert [one.action for one in entries] == ["queue.pause", "queue.resume"]
    assert entries[0].request_id
    assert entries[0].after
    assert entries[0].after["pause_reason"] == "fire"


def test_every_change_is_recorded_once_with_who_and_why(api, owner, queue, session):
    job = acts.enqueue(queue, delay_ms=60_000)
    for path, action in ((f"jobs/{job}/retry", "job.retry"), (f"jobs/{job}/cancel", "job.cancel")):
        answer = api.post(path)
        [entry] = Entry.objects.filter(action=action)
        assert (entry.user_id, entry.target_id, entry.request_id) == (owner.user.pk, str(job), answer["X-Request-Id"])
        assert entry.address == "127.0.0.1"


def test_a_queue_that_takes_only_some_types_refuses_others(api, queue, jobs):
    api.patch(f"queues/{queue.pk}", {"allowed_types": ["echo"]})
    assert pointers(api.post(jobs, {"type": "noop"})) == ["#/type"]
    assert api.post(jobs, {"type": "echo"}).status_code == 201


def test_a_policy_in_use_stays(api, project, queue):
    policy = api.post(f"projects/{project.pk}/retry-policies", {"name": "p", "max_lost_attempts": 4}).json()
    assert policy["max_losses"] == 4
    api.patch(f"queues/{queue.pk}", {"retry_policy": "p"})
    problem(api.delete(f"retry-policies/{policy['id']}"), 409, "in_use")
    api.patch(f"queues/{queue.pk}", {"retry_policy": None})
    assert api.delete(f"retry-policies/{policy['id']}").status_code == 204


def test_who_submitted_is_the_token_or_else_the_person(api, owner, jobs, organization):
    mine = api.post(jobs, {"type": "echo"}).json()["id"]
    assert api.get(f"jobs/{mine}").json()["submitted_by"] == str(owner.user.pk)
    assert someone(organization, Role.VIEWER).get(f"jobs/{mine}").status_code == 200


def test_a_waiting_job_says_why_and_one_that_runs_does_not(api, jobs, queue, session):
    made = api.post(jobs, {"type": acts.PING, "delay_seconds": 60}).json()["id"]
    api.post(f"queues/{queue.pk}/pause", {"reason": "the printer burns"})
    said = api.get(f"jobs/{made}").json()["why_waiting"]
    assert [gate["code"] for gate in said["gates"]] == ["due", "queue_paused", "no_worker"]
    assert said["says"] == said["gates"][0]["says"]
    assert said["gates"][0]["until"] == api.get(f"jobs/{made}").json()["run_at"]
    assert said["position"] is None
    api.post(f"queues/{queue.pk}/resume", {})
    api.post(f"jobs/{made}/retry", {})
    assert api.get(f"jobs/{made}").json()["why_waiting"]["position"] == 1
    acts.take_one(session, queue)
    assert api.get(f"jobs/{made}").json()["why_waiting"] is None


def test_a_job_that_is_claimed_while_it_is_shown_does_not_wait_any_more(api, jobs, queue, session, monkeypatch):
    made = api.post(jobs, {"type": acts.PING}).json()["id"]

    def meanwhile(job):
        waiting = why_waiting(job)
        acts.take_one(session, queue)
        return waiting

    monkeypatch.setattr(shown, "why_waiting", meanwhile)
    said = api.get(f"jobs/{made}").json()
    assert (said["state"], said["position"], said["why_waiting"]) == ("running", None, None)
