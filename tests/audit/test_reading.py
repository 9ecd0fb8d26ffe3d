"""Admins read the audit trail of their organization, narrow it, and take it away whole."""

import csv
import io
import json
import tracemalloc
from datetime import timedelta
from typing import Any

import pytest
from django.utils.timezone import now

from apps.accounts.models import Organization, Role
from apps.accounts.selectors import audit
from apps.audit.models import Entry
from apps.audit.record import Actor, record
from tests.api.caller import Api, pointers, problem, someone
from tests.api.test_pages import walk
from tests.factories import OrganizationFactory

pytestmark = pytest.mark.django_db
ANN, BOB = Actor(name="ann@example.com"), Actor(name="manage.py tidy", address="192.0.2.7", request_id="r-1")


@pytest.fixture
def admin(organization) -> Api:
    return someone(organization, Role.ADMIN)


@pytest.fixture
def place(organization) -> str:
    return f"orgs/{organization.pk}/audit"


def note(organization: Organization, action: str = "queue.pause", actor: Actor = ANN, **facts: Any) -> str:
    target = facts.pop("target_id", "t-1")
    record(
        actor=actor,
        organization_id=organization.pk,
        action=action,
        target_type="queue",
        target_id=target,
        **facts,
    )
    return str(Entry.objects.order_by("-id")[0].pk)


def ids(api: Api, path: str) -> list[str]:
    return [one["id"] for one in api.get(path).json()["results"]]


def test_an_entry_says_who_what_when_from_where_and_before_and_after(organization, admin, place):
    key = note(organization, actor=BOB, before={"a": 1}, after={"a": 2})
    [seen] = admin.get(place).json()["results"]
    assert {name: seen[name] for name in ("id", "actor", "action", "target_id", "before", "after", "address")} == {
        "id": key,
        "actor": "manage.py tidy",
        "action": "queue.pause",
        "target_id": "t-1",
        "before": {"a": 1},
        "after": {"a": 2},
        "address": "192.0.2.7",
    }


def test_it_is_narrowed_by_actor_action_target_and_time(organization, admin, place):
    mine = note(organization)
    resumed = note(organization, "queue.resume", BOB, target_id="t-2")
    made = note(organization, "project.create", BOB)
    assert ids(admin, f"{place}?actor=ANN@example.com") == [mine]
    assert ids(admin, f"{place}?action=queue.resume") == [resumed]
    assert ids(admin, f"{place}?action=queue") == [resumed, mine]
    assert ids(admin, f"{place}?action=que") == []
    assert ids(admin, f"{place}?target=t-2") == [resumed]
    assert ids(admin, f"{place}?actor=manage.py tidy&action=project") == [made]
    earlier, later = ((now() + timedelta(minutes=by)).isoformat().replace("+", "%2B") for by in (-5, 5))
    assert ids(admin, f"{place}?since={earlier}&until={later}") == [made, resumed, mine]
    assert ids(admin, f"{place}?since={later}") == ids(admin, f"{place}?until={earlier}") == []
    assert pointers(admin.get(f"{place}?since=yesterday")) == ["?since"]


def test_it_is_walked_by_pages_and_a_cursor_fits_one_filter(organization, admin, place):
    keys = [note(organization, f"queue.{number % 2}") for number in range(7)]
    assert [one for page in walk(admin, f"{place}?limit=3") for one in page] == keys[::-1]
    cursor = admin.get(f"{place}?limit=2&action=queue.0").json()["next"].partition("cursor=")[2]
    assert pointers(admin.get(f"{place}?limit=2&cursor={cursor}")) == ["?cursor"]


@pytest.mark.parametrize("path", ["", "/export"])
def test_nobody_reads_what_others_did(organization, admin, place, path):
    theirs = OrganizationFactory.create()
    note(theirs)
    problem(admin.get(f"orgs/{theirs.pk}/audit{path}"), 404)
    problem(someone(organization, Role.MEMBER).get(f"{place}{path}"), 403)
    said = admin.get(f"{place}{path}")
    assert "t-1" not in (b"".join(said.streaming_content) if path else said.content).decode()


def exported(api: Api, path: str) -> str:
    answer = api.get(path)
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()


@pytest.mark.parametrize("evil", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1+1", "\uff20SUM(A1)"])
def test_a_cell_is_never_a_formula(organization, admin, place, evil):
    note(organization, actor=Actor(name=evil), target_id=evil)
    [row] = list(csv.DictReader(io.StringIO(exported(admin, f"{place}/export"), newline="")))
    assert (row["actor"], row["target_id"]) == (f"'{evil}", f"'{evil}")


def test_what_csv_must_quote_comes_out_as_it_went_in(organization, admin, place):
    note(organization, actor=Actor(name='a "b", c'), after={"x": "1\n2,3"})
    [row] = list(csv.DictReader(io.StringIO(exported(admin, f"{place}/export"), newline="")))
    assert row["actor"] == 'a "b", c'
    assert json.loads(row["after"]) == {"x": "1\n2,3"}
    assert row["before"] == ""


def test_as_json_each_line_is_what_the_list_shows(organization, admin, place, monkeypatch):
    monkeypatch.setattr(audit, "BATCH", 3)
    for number in range(7):
        note(organization, f"queue.{number}")
    lines = [json.loads(line) for line in exported(admin, f"{place}/export?format=jsonl").splitlines()]
    assert lines == admin.get(place).json()["results"]
    assert len(exported(admin, f"{place}/export?format=jsonl&action=queue.3").splitlines()) == 1
    assert pointers(admin.get(f"{place}/export?format=xml")) == ["?format"]


def test_it_comes_bit_by_bit_however_long_it_is(organization, admin, place, monkeypatch):
    monkeypatch.setattr(audit, "BATCH", 50)
    blob = {"x": "y" * 10_000}
    Entry.objects.bulk_create(
        Entry(actor="a", action="b.c", organization_id=organization.pk, target_type="t", target_id="1", after=blob)
        for _ in range(1500)
    )
    answer = admin.get(f"{place}/export?format=jsonl")
    tracemalloc.start()
    length = sum(len(line) for line in answer.streaming_content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert length > 15_000_000
    assert peak < 5_000_000
