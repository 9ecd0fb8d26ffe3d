"""Many dead letters of a queue from its page: all of them, in as many turns as it takes."""

import pytest
from django.urls import reverse
from django.utils.timezone import now

from apps.jobs.models import Job
from apps.jobs.services import replay_on
from tests import acts
from tests.jobs.looks import fail_for_good
from tests.jobs.test_replay_all import in_the_way
from tests.jobs.test_replay_queue import dead_letters
from tests.pages.looks import elements_of, text_of


def many(browser, queue, **data):
    return browser.post(reverse("dashboard:replay_queue", args=[queue.pk]), data, follow=True)


def left(page) -> dict[str, str]:
    """The fields of the form that goes on; empty where there is none."""
    fields: dict[str, str] = {}
    for tag, attrs in elements_of(page):
        if tag == "form":
            if "after" in fields:
                break
            fields = {}
        if tag == "input" and attrs.get("type") == "hidden":
            fields[attrs.get("name") or ""] = attrs.get("value") or ""
    return fields if "after" in fields else {}


@pytest.fixture
def hurried(monkeypatch) -> None:
    """Two are replayed in a call, and time is up after it."""
    monkeypatch.setattr(replay_on, "CALL", 2)
    monkeypatch.setattr(replay_on, "SECONDS", 0.0)


def test_all_of_a_queue_are_replayed_and_nothing_is_left_to_go_on_with(member, queue, session, monkeypatch):
    monkeypatch.setattr(replay_on, "CALL", 2)
    dead_letters(queue, session, 5)
    seen = many(member, queue, limit="", next=f"/dead-letters?queue={queue.pk}")
    assert "5 replayed." in text_of(seen)
    assert left(seen) == {}
    assert Job.objects.filter(state="queued").count() == 5


def test_when_time_is_up_the_page_offers_to_go_on_until_all_are_done(member, queue, session, hurried):
    dead_letters(queue, session, 3)
    stuck = in_the_way(queue, session)
    [last] = dead_letters(queue, session, 1)
    seen = many(member, queue, limit="")
    assert "2 replayed; there are more." in text_of(seen)
    seen = many(member, queue, **left(seen))
    assert "2 replayed; 1 left, because something stands in their way." in text_of(seen)
    assert left(seen) == {}
    assert set(Job.objects.filter(state="dead_letter").values_list("id", flat=True)) == {stuck}
    assert Job.objects.get(pk=last).state == "queued"
    assert seen.redirect_chain[-1][0].endswith(f"queue={queue.pk}")


def test_a_limit_and_a_rate_hold_for_all_turns_together(member, queue, session, hurried):
    jobs = dead_letters(queue, session, 5)
    seen = many(member, queue, limit="3", rate="0.01")
    assert "1 of what was asked for are left" in text_of(seen)
    seen = many(member, queue, **left(seen))
    assert left(seen) == {}
    due = [Job.objects.get(pk=job_id).run_at for job_id in jobs[:3]]
    assert (due[2] - due[0]).total_seconds() == pytest.approx(200, abs=30)
    assert Job.objects.filter(state="dead_letter").count() == 2


def test_who_may_not_replay_is_not_asked_to_go_on(viewer, member, queue, session, hurried):
    dead_letters(queue, session, 3)
    at = many(member, queue, limit="").redirect_chain[-1][0]
    assert left(member.get(at))
    assert left(viewer.get(at)) == {}


@pytest.mark.parametrize("due", ["x", "2026-01-01", "9999-12-31T23:59:59+00:00", "2026-01-01T00:00:00"])
def test_a_time_that_nobody_was_told_is_refused(due, member, queue, session):
    [job_id] = dead_letters(queue, session, 1)
    response = many(member, queue, limit="", rate="1", due=due)
    assert any("note-bad" in (attrs.get("class") or "") for _, attrs in elements_of(response))
    assert Job.objects.get(pk=job_id).state == "dead_letter"


@pytest.mark.parametrize(
    "query", ["after=x", "after=%00", "after=", f"after=01a22861-5d77-72e6-a193-c5a1f0668840&due={now():%F}"]
)
def test_nonsense_in_the_address_is_no_error(query, member, queue, session):
    fail_for_good(session, queue, acts.enqueue(queue))
    assert member.get(f"/dead-letters?queue={queue.pk}&{query}").status_code == 200
