"""Lists: each is a link one can send, and the next page begins where the last one ended."""

import re

import pytest

from apps.dashboard.engine import search_jobs as search
from tests import acts
from tests.factories import QueueFactory
from tests.pages.looks import elements_of, text_of


def ids(response) -> list[str]:
    links = [attrs.get("href") or "" for tag, attrs in elements_of(response) if tag == "a"]
    return [found[1] for link in links if (found := re.fullmatch(r"/jobs/([0-9a-f-]{36})", link))]


def walk(browser, address: str) -> list[str]:
    """Every job of a list, page after page."""
    seen: list[str] = []
    following: str | None = address
    while following:
        response = browser.get(following)
        seen += ids(response)
        found = [attrs["href"] for tag, attrs in elements_of(response) if tag == "a" and attrs.get("rel") == "next"]
        following = f"/jobs{found[0]}" if found else None
    return seen


def test_filters_are_in_the_address(viewer, queue, session, project):
    other = QueueFactory.create(project=project)
    here, there = acts.enqueue(queue, type="a.one"), acts.enqueue(other, type="b.one")
    dead = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error")
    assert ids(viewer.get("/jobs")) == [str(dead), str(there), str(here)]
    assert ids(viewer.get("/jobs", {"queue": str(other.pk)})) == [str(there)]
    assert ids(viewer.get("/jobs", {"state": "dead_letter"})) == [str(dead)]
    assert ids(viewer.get("/jobs", {"state": "queued", "type": "a.one"})) == [str(here)]
    assert "No job fits" in text_of(viewer.get("/jobs", {"type": "nothing"}))


def test_pages_follow_each_other_without_gap_or_repeat(viewer, queue):
    made = [str(acts.enqueue(queue)) for _ in range(120)]
    assert walk(viewer, "/jobs") == made[::-1]


def test_a_search_looks_back_in_bounded_steps_and_misses_nothing(viewer, queue, project, monkeypatch):
    monkeypatch.setattr(search, "LOOKS", (3, 10))
    monkeypatch.setattr(search, "LEAST", 5)
    other = QueueFactory.create(project=project)
    made = []
    for n in range(60):
        made.append(str(acts.enqueue(queue if n % 3 else other, type="rare" if n % 7 == 0 else "common")))
    assert walk(viewer, "/jobs?type=rare") == made[::7][::-1]
    assert "Look further back" in text_of(viewer.get("/jobs", {"type": "rare"}))
    assert walk(viewer, f"/jobs?type=common&queue={other.pk}") == [made[n] for n in range(57, -1, -3) if n % 7]


def test_an_id_in_the_search_leads_to_the_job(viewer, queue):
    job_id = acts.enqueue(queue)
    assert viewer.get("/jobs", {"q": f" {job_id} "})["Location"] == f"/jobs/{job_id}"


@pytest.mark.parametrize("nonsense", ["before=x", "state=x", "queue=x", "type=%00", "q=%00", "before=" + "9" * 400])
def test_nonsense_in_the_address_is_no_error(nonsense, viewer, queue):
    acts.enqueue(queue)
    assert viewer.get(f"/jobs?{nonsense}").status_code == 200
    assert viewer.get(f"/dead-letters?{nonsense}").status_code == 200


LISTS = ("/", "/jobs", "/dead-letters", "/workflows", "/schedules", "/workers", "/line")


@pytest.mark.parametrize("path", LISTS)
def test_what_a_page_does_not_know_in_its_address_is_said(path, viewer, queue):
    assert "left out" not in text_of(viewer.get(path, {"project": str(queue.project_id), "before": ""}))
    said = text_of(viewer.get(path, {"stat": "queued", "before": "yesterday"}))
    assert "does not know what the address asks for with stat=queued, before=yesterday: it was left out" in said


def test_a_filter_that_cannot_be_is_said_and_one_that_can_is_not(viewer, queue):
    job_id = acts.enqueue(queue)
    fine = {"queue": str(queue.pk), "state": "queued", "type": "ping", "before": str(job_id)}
    assert "left out" not in text_of(viewer.get("/jobs", fine))
    typed = viewer.get("/jobs", {"state": "quued", "queue": "x"})
    assert "asks for with state=quued, queue=x:" in text_of(typed)
    assert "asks for with state=queued:" in text_of(viewer.get("/dead-letters", {"state": "queued"}))


@pytest.mark.parametrize("nonsense", ["x", "", "%00", "9" * 400])
def test_a_project_that_cannot_be_is_not_there(nonsense, viewer):
    assert viewer.get(f"/jobs?project={nonsense}").status_code == 404


def test_dead_letters_say_why_and_are_replayed(member, queue, session):
    job_id = acts.enqueue(queue)
    acts.finish(
        session, acts.take_one(session, queue), outcome="permanent_error", error_class="KeyError", error_message="'to'"
    )
    seen = text_of(member.get("/dead-letters"))
    assert "KeyError 'to'" in seen
    assert f"/jobs/{job_id}/replay" in member.get("/dead-letters").content.decode()


def test_the_oldest_dead_letters_of_a_queue_are_replayed_together(member, queue, session):
    for _ in range(3):
        acts.enqueue(queue)
    acts.finish(session, *acts.take(session, queue), outcome="permanent_error")
    member.post(f"/queues/{queue.pk}/replay")
    assert "Nothing has died here" in text_of(member.get("/dead-letters"))


def test_a_queue_shows_what_comes_next_in_that_order(viewer, queue):
    low, high = acts.enqueue(queue, priority=1), acts.enqueue(queue, priority=9)
    assert ids(viewer.get(f"/queues/{queue.pk}")) == [str(high), str(low)]


def test_a_purge_cancels_what_is_queued(admin, queue):
    acts.enqueue(queue)
    acts.enqueue(queue)
    assert "Cancel 2 queued jobs" in text_of(admin.get(f"/queues/{queue.pk}"))
    admin.post(f"/queues/{queue.pk}/purge")
    assert len(ids(admin.get("/jobs", {"state": "cancelled"}))) == 2


def test_workers_are_shown_with_what_they_hold_of_ours(viewer, queue, session):
    theirs = QueueFactory.create()
    acts.enqueue(queue)
    acts.enqueue(theirs)
    acts.take(session, queue)
    acts.take(session, theirs)
    seen = text_of(viewer.get("/workers"))
    assert session.worker.uid in seen
    assert "1 of 10 slots run jobs of this project" in seen
