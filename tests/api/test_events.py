"""A project's log is read in pages: every number once, none skipped, and a cursor that cannot go on is told so."""

from typing import Any
from uuid import UUID

import pytest

from apps.audit.models import Event
from apps.audit.relay import relay
from apps.audit.tail import held
from tests import acts
from tests.api.caller import pointers, problem
from tests.factories import QueueFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def events(viewer, queue) -> Any:
    """What a page says; `refused` expects a refusal."""

    def ask(query: str = "", *, refused: str = "") -> Any:
        relay()
        answer = viewer.get(f"projects/{queue.project_id}/events{query}")
        return problem(answer, 409, refused) if refused else answer.json()

    return ask


def let_happen(queue, session, jobs: int = 3) -> list[UUID]:
    made = [acts.enqueue(queue) for _ in range(jobs)]
    acts.finish(session, *acts.take(session, queue, limit=jobs))
    return made


def test_every_number_comes_once_whatever_the_page(events, queue, session):
    let_happen(queue, session, jobs=5)
    everything = events("?limit=200")["results"]
    numbers = [one["seq"] for one in everything]
    assert numbers == list(range(1, len(numbers) + 1))
    seen: list[Any] = []
    after = 0
    while page := events(f"?after={after}&limit=4")["results"]:
        seen += page
        after = page[-1]["seq"]
    assert seen == everything
    assert {one["kind"] for one in seen} >= {"job.started", "job.completed"}
    assert all(one["finished_at"] for one in seen if one["kind"] == "job.completed")


def test_next_leads_past_what_was_filtered_away(events, queue, session):
    let_happen(queue, session)
    page = events("?kind=job.completed")
    assert {one["kind"] for one in page["results"]} == {"job.completed"}
    assert page["next"] == page["head"] == held(queue.project_id).head
    assert events(f"?after={page['next']}")["results"] == []
    one = events("?kind=job.completed&limit=1")
    assert one["next"] == one["results"][0]["seq"]


def test_one_queue_of_several(events, queue, session):
    other = QueueFactory.create(project=queue.project)
    let_happen(queue, session)
    acts.enqueue(other)
    [only] = events(f"?queue={other.pk}")["results"]
    assert only["queue_id"] == str(other.pk)


def test_what_is_no_longer_held_is_told_with_the_oldest_that_is(events, queue, session):
    let_happen(queue, session)
    head = events()["head"]
    Event.objects.filter(last_seq__lte=head - 1).delete()
    told = events("?after=0", refused="cursor_too_old")
    assert told["oldest"] > 1
    assert events(f"?after={told['oldest'] - 1}")["results"]
    assert events()["results"][0]["seq"] == told["oldest"]  # unless said, from there


def test_a_cursor_of_another_history_is_told_where_to_go_on(events, queue, session):
    let_happen(queue, session)
    head = events()["head"]
    assert events(f"?after={head + 1}", refused="cursor_ahead")["head"] == head
    events("?after=0&timeline=000000FF", refused="cursor_ahead")
    assert events(f"?after=0&timeline={events()['timeline']}")["results"]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("after=-1", "?after"),
        ("after=x", "?after"),
        ("limit=0", "?limit"),
        ("limit=201", "?limit"),
        ("queue=x", "?queue"),
    ],
)
def test_what_is_asked_is_checked(viewer, queue, query, pointer):
    assert pointers(viewer.get(f"projects/{queue.project_id}/events?{query}")) == [pointer]
