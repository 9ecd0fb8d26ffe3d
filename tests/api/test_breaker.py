"""Breakers over HTTP: their rules, their state, and opening and closing them."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.audit.models import Entry
from apps.queues.models import Gate, Queue
from apps.queues.services import trip_breaker
from tests import acts
from tests.api.caller import pointers
from tests.factories import QueueFactory

pytestmark = pytest.mark.django_db
RULES = {"window": 20, "trip": 5, "share": 0.5, "cooldown_seconds": 30}


@pytest.fixture
def here(queue) -> str:
    return f"queues/{queue.pk}"


def test_a_queue_has_none_unless_it_is_given_one_and_loses_it_again(api, here, queue):
    none = api.get(here).json()
    assert (none["breaker"], none["breaker_state"]) == (None, {"state": "closed", "reopens_at": None, "trips": 0})
    assert api.patch(here, {"breaker": RULES}).json()["breaker"] == RULES == api.get(here).json()["breaker"]
    smaller = {"window": 3, "trip": 3, "cooldown_seconds": 1}
    assert api.patch(here, {"breaker": smaller}).json()["breaker"] == {**smaller, "share": None}  # replaced whole
    assert api.patch(here, {"timeout_ms": 5}).json()["breaker"]["window"] == 3
    assert api.patch(here, {"breaker": None}).json()["breaker"] is None
    changes = [entry.after for entry in Entry.objects.filter(target_id=str(queue.pk)).order_by("id")]
    assert changes[1] == {
        "breaker_window": 3,
        "breaker_trip": 3,
        "breaker_share": None,
        "breaker_cooldown_seconds": 1,
    }


def test_a_queue_is_made_with_one(api, project):
    made = api.post(f"projects/{project.pk}/queues", {"name": "guarded", "breaker": RULES})
    assert (made.status_code, made.json()["breaker"]) == (201, RULES)
    assert Queue.objects.get(name="guarded").breaker_since is not None


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ({"window": 0, "trip": 1, "cooldown_seconds": 1}, ["window"]),
        ({"window": 1001, "trip": 1, "cooldown_seconds": 1}, ["window"]),
        ({"window": "5", "trip": 1, "cooldown_seconds": 1}, ["window"]),
        ({"window": 5, "trip": 6, "cooldown_seconds": 1}, ["trip"]),
        ({"window": 5, "cooldown_seconds": 1}, ["trip"]),
        ({"window": 5, "trip": None, "share": None, "cooldown_seconds": 1}, ["trip"]),
        ({"window": 5, "share": 0, "cooldown_seconds": 1}, ["share"]),
        ({"window": 5, "share": 1.5, "cooldown_seconds": 1}, ["share"]),
        ({"window": 5, "trip": 1, "cooldown_seconds": 0}, ["cooldown_seconds"]),
        ({"window": 5, "trip": 1, "cooldown_seconds": 86_401}, ["cooldown_seconds"]),
        ({"trip": 1}, ["cooldown_seconds", "window"]),
        ({"window": 5, "trip": 1, "cooldown_seconds": 1, "colour": "red"}, ["colour"]),
        ("often", None),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_name(api, here, rules, named):
    answer = api.patch(here, {"breaker": rules})
    assert sorted(pointers(answer)) == ([f"#/breaker/{name}" for name in named] if named else ["#/breaker"])


def test_it_is_opened_until_a_time_or_for_a_cooldown_and_closed(api, here, queue):
    until = (datetime.now(UTC) + timedelta(hours=2)).replace(microsecond=0)
    opened = api.post(f"{here}/breaker", {"state": "open", "until": until.isoformat()})
    shut = {"state": "open", "reopens_at": until.isoformat().replace("+00:00", "Z"), "trips": 0}
    assert opened.json()["breaker_state"] == shut == api.get(here).json()["breaker_state"]
    again = api.post(f"{here}/breaker", {"state": "open"}).json()["breaker_state"]
    assert again["reopens_at"] < shut["reopens_at"]
    assert api.post(f"{here}/breaker", {"state": "closed"}).json()["breaker_state"]["state"] == "closed"
    assert not Gate.objects.exists()


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        ({}, "#/state"),
        ({"state": "half_open"}, "#/state"),
        ({"state": "open", "until": "2001-01-01T00:00:00Z"}, "#/until"),
        ({"state": "open", "until": "2999-01-01T00:00:00"}, "#/until"),
        ({"state": "closed", "until": "2999-01-01T00:00:00Z"}, "#/until"),
        ({"state": "open", "reason": "x"}, "#/reason"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(api, here, ask, named):
    assert pointers(api.post(f"{here}/breaker", ask)) == [named]
    assert not Gate.objects.exists()


def test_a_list_tells_the_state_of_each_and_of_the_first_shard(api, queue):
    other = QueueFactory.create(project=queue.project)
    api.patch(f"queues/{queue.pk}", {"breaker": RULES, "max_concurrency": 5, "shards": 3})
    since = Queue.objects.get(pk=queue.pk).breaker_since
    assert since
    assert trip_breaker(queue_id=queue.pk, since=since, failures=5)
    listed = {
        one["id"]: one["breaker_state"] for one in api.get(f"projects/{queue.project_id}/queues").json()["results"]
    }
    assert {(key, one["state"], one["trips"]) for key, one in listed.items()} == {
        (str(queue.pk), "open", 1),
        (str(other.pk), "closed", 0),
    }


def test_a_job_behind_it_says_so(api, here, queue, session):
    session.types = ["ping"]
    session.save()
    job_id = acts.enqueue(queue)
    api.post(f"{here}/breaker", {"state": "open"})
    [gate, _] = api.get(f"jobs/{job_id}").json()["why_waiting"]["gates"]
    assert (gate["code"], gate["says"].partition(" until ")[0]) == ("breaker_open", "The breaker was opened by hand,")
