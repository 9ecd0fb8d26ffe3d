"""Jobs that run once more, from the pages: copies, edited dead letters, and many of a queue."""

import json

import pytest
from django.urls import reverse

from apps.jobs.models import Job
from apps.jobs.selectors import find
from tests import acts
from tests.jobs.looks import fail_for_good
from tests.pages.looks import elements_of, text_of
from tests.pages.test_job import page, post

PRINTED = '{\n    "path": "a.pgn"\n}'


@pytest.fixture
def dead(queue, session):
    job_id = acts.enqueue(queue, payload='{"path": "a.pgn"}')
    fail_for_good(session, queue, job_id)
    return job_id


def test_a_job_is_duplicated_and_the_copy_is_shown(member, queue):
    job_id = acts.enqueue(queue, payload='{"path": "a.pgn"}')
    response = post(member, "duplicate", job_id, payload='{"path": "a.png"}')
    assert "this is the copy" in text_of(response)
    copy = Job.objects.exclude(pk=job_id).get()
    assert response.redirect_chain[-1][0] == reverse("dashboard:job", args=[copy.pk])
    assert copy.payload == {"path": "a.png"}


def test_a_copy_that_is_refused_says_why_beside_the_original(member, queue):
    job_id = acts.enqueue(queue)
    response = post(member, "duplicate", job_id, payload='{"path": ')
    assert "The payload is not JSON" in text_of(response)
    assert response.redirect_chain[-1][0] == reverse("dashboard:job", args=[job_id])
    assert Job.objects.count() == 1


@pytest.mark.parametrize("typed", ["", PRINTED, PRINTED.replace("\n", "\r\n")])
def test_a_payload_that_nobody_changed_is_kept(typed, member, dead):
    shown = page(member, dead)
    assert "textarea" in {tag for tag, _ in elements_of(shown)}
    post(member, "replay", dead, payload=typed)
    assert find(dead).state == "queued"
    assert "Earlier payloads" not in text_of(page(member, dead))


def test_a_payload_that_was_changed_is_used_and_the_old_one_shown(member, dead):
    seen = text_of(post(member, "replay", dead, payload='{"path": "<b>.png"}'))
    assert find(dead).payload == {"path": "<b>.png"}
    assert "Earlier payloads" in seen
    assert "a.pgn" in seen


@pytest.mark.parametrize("typed", ["{", "NaN", '{"a": 1} x', '"\\u0000"', "[" * 100_000])
def test_what_is_no_payload_is_said_and_nothing_is_replayed(typed, member, dead):
    response = post(member, "replay", dead, payload=typed)
    assert any("note-bad" in (attrs.get("class") or "") for _, attrs in elements_of(response))
    assert find(dead).state == "dead_letter"


def test_who_does_not_see_payloads_is_offered_none_and_replays_as_it_is(member, queue, dead):
    queue.hide_payloads_below = "admin"
    queue.save()
    assert "textarea" not in {tag for tag, _ in elements_of(page(member, dead))}
    post(member, "replay", dead)
    assert find(dead).payload == {"path": "a.pgn"}


def many(browser, queue, **data):
    return browser.post(reverse("dashboard:replay_queue", args=[queue.pk]), data, follow=True)


def test_many_are_replayed_as_fast_as_was_asked_for(member, queue, session, dead):
    acts.enqueue(queue)
    fail_for_good(session, queue, acts.enqueue(queue, priority=1))
    parent = acts.enqueue(queue, priority=1)
    acts.enqueue(queue, depends_on=[parent])
    fail_for_good(session, queue, parent)
    listed = member.get(reverse("dashboard:dead_letters"), {"queue": queue.pk})
    names = {attrs.get("name") for _, attrs in elements_of(listed)}
    assert {"limit", "rate", "error_class"} <= names
    seen = text_of(many(member, queue, limit="10", rate="0.5", error_class=""))
    assert "2 replayed; 1 left, because something stands in their way." in seen
    states = list(Job.objects.filter(generation=2).order_by("id").values_list("state", flat=True))
    assert states == ["queued", "scheduled"]


@pytest.mark.parametrize(
    "data", [{"limit": "0"}, {"limit": "x"}, {"limit": "5", "rate": "fast"}, {"limit": "5", "rate": "nan"}]
)
def test_numbers_that_make_no_sense_are_said(data, member, queue, dead):
    response = many(member, queue, **data)
    assert any("note-bad" in (attrs.get("class") or "") for _, attrs in elements_of(response))
    assert find(dead).state == "dead_letter"


def test_numbers_are_shown_as_they_were(member, queue, session):
    job_id = acts.enqueue(queue, payload=json.dumps({"n": 9007199254740993}))
    fail_for_good(session, queue, job_id)
    assert "9007199254740993" in text_of(post(member, "replay", job_id, payload="1"))
