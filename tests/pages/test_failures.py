"""A queue's page says what fails in it: in groups, and in words where a model found some."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.queues.models import FailureSummary
from tests.jobs.failures import fail, summarized, trace
from tests.pages.looks import elements_of, text_of
from tests.pages.test_markup import HOSTILE


def page(browser, queue, headers=None):
    return browser.get(reverse("dashboard:queue", args=[queue.pk]), headers=headers)


def test_groups_are_shown_with_a_way_to_the_newest_of_each(viewer, queue, session):
    fail(session, queue, error_class="OSError", error_message="no route", traceback=trace())
    last = fail(session, queue, error_class="OSError", error_message="no route", traceback=trace())
    summarized(queue)
    seen = page(viewer, queue)
    assert "What fails in the last 24 h, as of just now" in text_of(seen)
    assert "OSError shop/mail/send.py:12 in deliver no route 2 2 1 just now just now" in text_of(seen)
    assert f"/jobs/{last}" in [attrs.get("href") for tag, attrs in elements_of(seen) if tag == "a"]


def test_a_queue_in_which_nothing_failed_says_nothing(viewer, queue, session):
    fail(session, queue, outcome="success")
    assert "What fails" not in text_of(page(viewer, queue))


def test_until_somebody_has_looked_it_says_when(viewer, queue, session):
    fail(session, queue)
    assert "what it was is summed up within five minutes" in text_of(page(viewer, queue))


def test_what_is_polled_leaves_it_alone(viewer, queue, session):
    fail(session, queue)
    summarized(queue)
    with CaptureQueriesContext(connection) as sent:
        seen = text_of(page(viewer, queue, {"HX-Request": "true", "HX-Target": "queue"}))
    assert "What fails" not in seen
    assert not [one for one in sent.captured_queries if "failuresummary" in one["sql"]]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("current", "Written by small-1 just now . It may be wrong"),
        ("stale", "of failures that have changed since. It may be wrong"),
        ("unavailable", "it did not answer when it was asked again"),
    ],
)
def test_prose_says_whose_it_is_and_what_it_is_worth(viewer, queue, session, state, said):
    fail(session, queue)
    told_at = summarized(queue).computed_at
    FailureSummary.objects.update(summary="Mail fails.", model="small-1", told_at=told_at, state=state)
    seen = text_of(page(viewer, queue))
    assert "Mail fails. Written by small-1" in seen
    assert said in seen


@pytest.mark.parametrize("text", HOSTILE)
def test_what_handlers_and_models_write_is_text(viewer, queue, session, text):
    fail(session, queue, error_class="E")
    summarized(queue)
    quiet = elements_of(page(viewer, queue))
    [group] = FailureSummary.objects.get().failures
    group |= {"error_class": text, "top_frame": text, "latest_message": text}
    FailureSummary.objects.update(failures=[group], summary=text, model=text)
    loud = page(viewer, queue)
    assert {tag for tag, _ in elements_of(loud)} <= {tag for tag, _ in quiet} | {"br", "code"}
    assert text_of(loud).count(" ".join(text.split())) >= 4
