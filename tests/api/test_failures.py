"""What failed in a queue is told to those who may see it, in groups, with what a model says of them and what that is worth."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils.timezone import now

from apps.jobs.engine.summarize import ROWS_MAX
from apps.queues.models import FailureSummary
from tests.factories import QueueFactory
from tests.jobs.failures import fail, let_age, summarized, trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(viewer, queue) -> Any:
    def ask() -> Any:
        return viewer.get(f"queues/{queue.pk}/failure-summary").json()

    return ask


def test_a_queue_in_which_nothing_failed_has_nothing_to_tell(told, queue, session):
    fail(session, queue, outcome="success")
    let_age(fail(session, queue), hours=23.9)
    seen = told()
    assert (seen["failures"], seen["summary"], seen["model"], seen["computed_at"]) == ([], "", None, None)
    assert seen["window_hours"] == 24


@pytest.mark.parametrize(("outcome", "state"), [("success", "current"), ("timeout", "pending")])
def test_until_somebody_has_looked_it_is_pending(told, queue, session, outcome, state):
    fail(session, queue, outcome=outcome)
    fail(session, QueueFactory.create())
    assert told()["state"] == state


def test_groups_are_told_whole(told, queue, session):
    job_id = fail(session, queue, error_class="OSError", error_message="no <route>", traceback=trace())
    summarized(queue)
    seen = told()
    [group] = seen["failures"]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", group.pop(name)) for name in ("first_seen", "last_seen"))
    assert group == {
        "error_class": "OSError",
        "top_frame": "shop/mail/send.py:12 in deliver",
        "count": 1,
        "jobs": 1,
        "distinct_messages": 1,
        "latest_message": "no <route>",
        "sample": {"job": str(job_id), "attempt": 1},
    }
    assert (seen["queue"], seen["state"], seen["capped"]) == (str(queue.pk), "unavailable", False)
    assert seen["computed_at"].endswith("Z")


def test_more_failures_than_are_looked_at_are_said(told, queue, session):
    fail(session, queue)
    summarized(queue)
    FailureSummary.objects.update(looked_at=ROWS_MAX)
    assert told()["capped"]


def test_prose_comes_with_whose_it_is_and_when(told, queue, session):
    fail(session, queue)
    written = now() - timedelta(minutes=3)
    summarized(queue)
    FailureSummary.objects.update(summary="Mail fails.", model="small-1", told_at=written, state="stale")
    seen = told()
    assert (seen["summary"], seen["model"], seen["state"]) == ("Mail fails.", "small-1", "stale")
    assert seen["told_at"] == written.isoformat().replace("+00:00", "Z")


def test_another_tenants_queue_is_not_there(viewer, queue, session):
    other = QueueFactory.create()
    fail(session, other, error_class="Theirs")
    summarized(other)
    assert viewer.get(f"queues/{other.pk}/failure-summary").status_code == 404
    assert "Theirs" not in viewer.get(f"queues/{queue.pk}/failure-summary").content.decode()


def test_what_hides_payloads_hides_no_error(told, queue, session):
    """As in the job's own attempts: a message is what its author wrote for whoever operates it."""
    queue.hide_payloads_below = "admin"
    queue.save(update_fields=["hide_payloads_below"])
    fail(session, queue, error_message="no route", payload='"secret"')
    summarized(queue)
    assert told()["failures"][0]["latest_message"] == "no route"
