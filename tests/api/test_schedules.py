"""Schedules over HTTP: what is answered, what is refused and how it is named."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.jobs.models import Job, Schedule
from apps.jobs.states import CatchUp
from tests.api.caller import BASE, pointers, problem
from tests.jobs.schedules import MINUTELY, come_due, fire, make_schedule

pytestmark = pytest.mark.django_db
NEW: dict[str, Any] = {
    "name": "nightly",
    "cron_expr": " 30 2  * * 1-5",
    "timezone": "America/New_York",
    "job_type": "ping",
    "payload": {"n": 1},
}

DEFAULTS: dict[str, Any] = {
    "payload_hidden": False,
    "priority": None,
    "overlap_policy": "skip",
    "catchup_policy": "skip",
    "catchup_max": 10,
    "jitter_seconds": 0,
    "deadline_seconds": None,
    "last_job": None,
    "paused": None,
    "trouble": None,
}


@pytest.fixture
def place(queue) -> str:
    return f"queues/{queue.pk}/schedules"


def test_one_is_made_shown_listed_changed_and_deleted(api, place, queue):
    answer = api.post(place, NEW)
    made = answer.json()
    assert answer.status_code == 201
    assert made == {**made, **DEFAULTS, **NEW, "cron_expr": "30 2 * * 1-5", "queue": str(queue.pk)}
    assert made.keys() == {*DEFAULTS, *NEW, "id", "queue", "next_run_at", "created_at"}
    assert made["next_run_at"].endswith(":30:00Z")
    at = f"schedules/{made['id']}"
    assert api.get(at).json() == made
    assert api.get(place).json()["results"] == [made]
    changed = api.patch(at, {"cron_expr": "@daily", "timezone": "UTC", "overlap_policy": "queue"}).json()
    assert changed["next_run_at"].endswith("T00:00:00Z")
    assert (changed["overlap_policy"], changed["payload"]) == ("queue", {"n": 1})
    assert api.delete(at).status_code == 204
    problem(api.get(at), 404)


def test_verbs_answer_with_the_schedule_as_it_is_now(api, place):
    made = api.post(place, NEW).json()
    at = f"schedules/{made['id']}"
    paused = api.post(f"{at}/pause", {"reason": "holidays"}).json()
    assert (paused["paused"]["reason"], paused["next_run_at"]) == ("holidays", None)
    ran = api.post(f"{at}/run-now").json()
    assert Job.objects.get(pk=ran["last_job"]).schedule_id == Schedule.objects.get().pk
    resumed = api.post(f"{at}/resume").json()
    assert (resumed["paused"], resumed["next_run_at"]) == (None, made["next_run_at"])
    refused = problem(api.post(f"{at}/run-now"), 409, "conflict")
    assert ran["last_job"] in refused["detail"]


def test_a_key_makes_one_schedule_and_one_run(api, place):
    first, second = (api.post(place, NEW, key="k") for _ in range(2))
    assert (first.status_code, second.status_code, second["Idempotency-Replayed"]) == (201, 200, "true")
    assert first.json() == second.json()
    at = f"schedules/{first.json()['id']}"
    runs = [api.post(f"{at}/run-now", key="k") for _ in range(2)]
    assert [one.status_code for one in runs] == [200, 200]
    assert Job.objects.count() == 1
    problem(api.post(place, NEW), 409, "conflict")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cron_expr", "29 2 30 2 *"),
        ("cron_expr", "* * * * * *"),
        ("cron_expr", "5-5/0 * * * *"),
        ("cron_expr", "x" * 10_000),
        ("cron_expr", "\x00 * * * *"),
        ("cron_expr", ""),
        ("cron_expr", 5),
        ("timezone", "Mars/Phobos"),
        ("timezone", "../../etc/passwd"),
        ("timezone", "localtime"),
        ("overlap_policy", "perhaps"),
        ("catchup_policy", None),
        ("catchup_max", 1001),
        ("jitter_seconds", -1),
        ("jitter_seconds", 10**12),
        ("deadline_seconds", 0),
        ("priority", 1001),
        ("name", "x" * 3200),
        ("job_type", ""),
        ("next_run_at", "2027-01-01T00:00:00Z"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_fault_is_pointed_at(api, place, queue, field, value, method):
    at = place if method == "POST" else f"schedules/{make_schedule(queue).pk}"
    body = {**NEW, field: value} if method == "POST" else {field: value}
    assert pointers(api.send(method, at, body)) == [f"#/{field}"]


def test_the_preview_tells_both_zones_over_a_change_of_the_clocks(api, queue, monkeypatch):
    schedule = make_schedule(queue, "30 2 * * *", timezone="America/New_York", jitter_seconds=60)
    monkeypatch.setattr("apps.jobs.api.schedules.now", lambda: _at("2027-03-13T00:00:00Z"))
    told = api.get(f"schedules/{schedule.pk}/preview?count=3&timezone=Asia/Kathmandu").json()
    assert (told["timezone"], told["viewer_timezone"]) == ("America/New_York", "Asia/Kathmandu")
    assert [one["at"] for one in told["results"]] == [
        "2027-03-13T07:30:00Z",
        "2027-03-14T07:00:00Z",
        "2027-03-15T06:30:00Z",
    ]
    assert told["results"][1]["local"] == "2027-03-14T03:00:00-04:00"
    assert told["results"][1]["viewer"] == "2027-03-14T12:45:00+05:45"
    assert all(0 <= one["jitter_seconds"] < 60 for one in told["results"])


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("query", ["count=0", "count=101", "count=x", "timezone=Mars/Phobos", "timezone=%00", "nope=1"])
def test_a_bad_question_is_refused(api, queue, query):
    schedule = make_schedule(queue)
    assert pointers(api.get(f"schedules/{schedule.pk}/preview?{query}")) == [f"?{query.partition('=')[0]}"]


def test_a_paused_schedule_has_a_preview_and_one_in_trouble_has_none(api, queue):
    schedule = make_schedule(queue)
    at = f"schedules/{schedule.pk}"
    api.post(f"{at}/pause")
    assert len(api.get(f"{at}/preview").json()["results"]) == 10
    Schedule.objects.update(cron_expr="garbage")
    assert api.get(f"{at}/preview").json()["results"] == []
    assert pointers(api.post(f"{at}/resume")) == ["#/cron_expr"]


def test_the_ledger_is_walked_both_ways_newest_first(api, queue):
    schedule = make_schedule(queue, MINUTELY, catchup_policy=CatchUp.SKIP)
    come_due(schedule, ago=timedelta(minutes=30))
    fire()
    path = f"schedules/{schedule.pk}/ticks?limit=7"
    pages = [api.get(path).json()]
    while pages[-1]["next"]:
        pages.append(api.get(pages[-1]["next"].partition(BASE)[2]).json())
    rows = [row for page in pages for row in page["results"]]
    times = [row["scheduled_for"] for row in rows]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == len(times) == schedule.ticks.count()
    assert rows[0] == {**rows[0], "outcome": "fired", "job": str(Job.objects.get().pk), "late": None, "why": ""}
    assert {row["outcome"] for row in rows[1:]} == {"missed"}
    back = [pages[-1]]
    while back[-1]["previous"]:
        back.append(api.get(back[-1]["previous"].partition(BASE)[2]).json())
    assert [page["results"] for page in reversed(back)] == [page["results"] for page in pages]
    problem(api.get(f"{path}&cursor=////"), 400)


def test_a_schedule_of_a_deleted_queue_is_gone(api, queue, place):
    at = f"schedules/{api.post(place, NEW).json()['id']}"
    assert api.delete(f"queues/{queue.pk}").status_code == 204
    problem(api.get(at), 404)
