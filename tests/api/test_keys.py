"""Keys over HTTP: how long they may be (case H4), who shares a place, and who sets how many."""

import pytest

from apps.audit.models import Entry
from apps.jobs.engine.admit import admit
from apps.jobs.models import Job
from tests.api.caller import pointers

pytestmark = pytest.mark.django_db
TEXTS = ("a", "ab\u0301", "\N{SNOWMAN}")


@pytest.mark.parametrize("name", ["unique_key", "concurrency_key"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_key_is_taken_whole_or_refused_by_name(api, jobs, name, text):
    fits = (text * 255)[:255]
    assert api.post(jobs, {"type": "echo", name: fits}).status_code == 201
    assert getattr(Job.objects.get(), name) == fits
    for more in (256, 2560, 8000):
        answer = api.post(jobs, {"type": "echo", name: (text * more)[:more]})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["pointer"] == f"#/{name}"
    assert Job.objects.count() == 1


@pytest.mark.parametrize("name", ["unique_key", "concurrency_key"])
def test_two_keys_that_differ_at_their_end_are_two(api, jobs, name):
    for end in "xy":
        assert api.post(jobs, {"type": "echo", name: "a" * 254 + end}).status_code == 201
    assert Job.objects.count() == 2


def test_a_job_says_its_key_and_why_it_waits(api, queue, jobs):
    assert api.patch(f"queues/{queue.pk}", {"max_per_key": 1}).json()["max_per_key"] == 1
    first, second = (api.post(jobs, {"type": "echo", "concurrency_key": "k"}).json()["id"] for _ in range(2))
    admit(keys=[(queue.pk, "k")])  # as the commit of each did
    shown = api.get(f"jobs/{second}").json()
    assert shown["concurrency_key"] == "k"
    full = next(gate for gate in shown["why_waiting"]["gates"] if gate["code"] == "key_full")
    assert full["jobs"] == [first]


def test_how_many_is_set_by_who_may_and_audited(api, viewer, queue):
    assert viewer.patch(f"queues/{queue.pk}", {"max_per_key": 5}).status_code == 403
    api.patch(f"queues/{queue.pk}", {"max_per_key": 5})
    entry = Entry.objects.latest("id")
    assert (entry.action, entry.before, entry.after) == ("queue.update", {"max_per_key": None}, {"max_per_key": 5})


@pytest.mark.parametrize("most", [0, -1, 1_000_001, "1", True, 1.5])
def test_a_number_that_makes_no_sense_is_named(api, queue, most):
    answer = api.patch(f"queues/{queue.pk}", {"max_per_key": most})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/max_per_key"


# Where a name stands, what else is said there, its field and the longest it may be.
NAMES = [
    ("queues/{queue}/schedules", {"cron_expr": "@daily", "job_type": "noop"}, "name", 128),
    ("queues/{queue}/jobs", {}, "type", 128),
    ("projects/{project}/queues", {}, "name", 128),
    ("projects/{project}/retry-policies", {}, "name", 128),
    ("orgs/{org}/tokens", {"scopes": ["read"]}, "name", 128),
    ("worker/sessions", {"types": ["noop"], "organization": "{org}"}, "uid", 128),
]


@pytest.mark.parametrize(("path", "rest", "field", "most"), NAMES)
def test_a_name_is_taken_whole_or_refused_by_name(api, queue, path, rest, field, most):
    ids = {"queue": queue.pk, "project": queue.project_id, "org": queue.project.organization_id}
    rest = {name: value.format(**ids) if isinstance(value, str) else value for name, value in rest.items()}
    for more in (most + 1, 3200):
        answer = api.post(path.format(**ids), {**rest, field: "n" * more})
        assert set(pointers(answer)) == {f"#/{field}"}
    made = api.post(path.format(**ids), {**rest, field: "n" * most})
    assert made.status_code == 201, made.content
    assert made.json().get(field) == "n" * most


def test_a_label_is_taken_whole_or_refused_by_name(api, jobs):
    for labels in ({"a": "b" * 3200}, {"a" * 3200: "b"}):
        assert pointers(api.post(jobs, {"type": "echo", "labels": labels}))[0].startswith("#/labels")
    assert not Job.objects.exists()
