"""What fails in a queue is grouped by error class and top frame, from the ledger, where something has failed since the last look."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils.timezone import now

from apps.jobs.engine import summarize as engine
from apps.jobs.loops import SUMMARIES_SECONDS, summarize_failures
from apps.jobs.states import FAILED, Outcome
from apps.queues.models import FailureSummary
from apps.queues.states import SummaryState
from tests import acts
from tests.factories import QueueFactory
from tests.jobs.failures import fail, let_age, summarized, trace

pytestmark = pytest.mark.django_db
CRASH = """Fatal Python error: Segmentation fault

Current thread 0x00007f1 (most recent call first):
  File "/srv/app/shop/pictures/scale.py", line 7 in scale
  File "/srv/app/run.py", line 40 in call
"""


def groups(queue: Any) -> list[tuple[str, str | None, int]]:
    return [(one["error_class"], one["top_frame"], one["count"]) for one in summarized(queue).failures]


def test_failures_are_grouped_by_class_and_frame_the_largest_first(queue, session):
    for place in range(3):
        fail(session, queue, error_class="OSError", error_message=f"no route to {place % 2}", traceback=trace())
    fail(session, queue, error_class="OSError", error_message="no route", traceback=trace(line=99))
    fail(session, queue, error_class="KeyError", error_message="'a'", traceback=trace())
    assert groups(queue) == [
        ("OSError", "shop/mail/send.py:12 in deliver", 3),
        ("KeyError", "shop/mail/send.py:12 in deliver", 1),
        ("OSError", "shop/mail/send.py:99 in deliver", 1),
    ]


def test_a_group_tells_how_many_when_and_which_to_look_at(queue, session):
    acts.enqueue(queue)
    for message in ("first", "second"):
        taken = acts.take_one(session, queue)
        acts.finish(session, taken, outcome="retryable_error", error_class="E", error_message=message, delay_ms=0)
    last = fail(session, queue, error_class="E", error_message="second")
    [group] = summarized(queue).failures
    assert (group["count"], group["jobs"], group["distinct_messages"]) == (3, 2, 2)
    assert group["latest_message"] == "second"
    assert group["sample"] == {"job": str(last), "attempt": 1}
    assert group["first_seen"] < group["last_seen"]
    assert summarized(queue).looked_at == 3


@pytest.mark.parametrize("outcome", Outcome)
def test_only_what_failed_counts(queue, session, outcome):
    fail(session, queue, outcome=outcome, error_class="E")
    found = summarized(queue)
    assert (found is not None and [one["error_class"] for one in found.failures] == ["E"]) == (outcome in FAILED)


def test_what_has_no_class_is_named_by_how_it_ended(queue, session):
    fail(session, queue, outcome="timeout")
    assert groups(queue) == [("timeout", None, 1)]


@pytest.mark.parametrize(
    ("traceback", "frame"),
    [
        (None, None),
        ("Error: broken\n    at send (mail.js:3:1)", None),
        (CRASH, "shop/pictures/scale.py:7 in scale"),
        (
            f"{trace(line=1)}\nDuring handling of the above, another:\n\n{trace(line=2)}",
            "shop/mail/send.py:2 in deliver",
        ),
        (f"{trace()}{'a long message ' * 5000}", "shop/mail/send.py:12 in deliver"),
        ('  File "run.py", line 5, in <module>\n', "run.py:5 in <module>"),
        ('  File "run.py", line 5\n    for\n       ^\nSyntaxError: invalid syntax', "run.py:5"),
        ('  |   File "/a/b/c/d.py", line 5, in call\n  |     raise\n  | OSError', "b/c/d.py:5 in call"),
        (
            'Thread 0x1 (most recent call first):\n  File "a.py", line 1 in wait\n\n' + CRASH,
            "shop/pictures/scale.py:7 in scale",
        ),
        (f'  File "/{"d" * 400}/f.py", line 5, in call\n', f"/{'d' * 299}"),
    ],
    ids=[
        "none",
        "another language",
        "a crash",
        "a cause",
        "a long message",
        "no folder",
        "what is no Python",
        "a group",
        "a crash beside others",
        "a long path",
    ],
)
def test_the_frame_is_the_one_that_raised(queue, session, traceback, frame):
    fail(session, queue, error_class="E", traceback=traceback)
    assert groups(queue) == [("E", frame, 1)]


def test_a_message_is_cut_and_the_groups_and_failures_are_so_many(queue, session, monkeypatch):
    monkeypatch.setattr(engine, "GROUPS_MAX", 2)
    monkeypatch.setattr(engine, "ROWS_MAX", 4)
    for name in ("Old", "A", "B", "B", "C"):
        fail(session, queue, error_class=name, error_message="x" * 4000)
    assert groups(queue) == [("B", None, 2), ("C", None, 1)]
    found = summarized(queue)
    assert found.looked_at == 4
    assert {len(one["latest_message"]) for one in found.failures} == {engine.MESSAGE_MAX}


def test_queues_are_kept_apart(queue, session):
    other = QueueFactory.create()
    fail(session, queue, error_class="Mine")
    fail(session, other, error_class="Theirs")
    assert groups(queue) == [("Mine", None, 1)]
    assert [one["error_class"] for one in FailureSummary.objects.get(queue=other).failures] == ["Theirs"]


def test_a_queue_in_which_nothing_failed_is_not_looked_at(queue, session):
    fail(session, queue, outcome="success")
    assert summarized(queue) is None
    let_age(fail(session, queue), hours=0.5)
    before = summarized(queue)
    assert before.looked_at == 1
    assert summarized(queue).computed_at == before.computed_at - timedelta(minutes=5)


def test_nobody_looks_again_right_after_somebody_has(queue, session):
    fail(session, queue)
    before = summarized(queue).computed_at
    fail(session, queue)
    summarize_failures()
    assert FailureSummary.objects.get().computed_at == before


def test_what_was_being_written_when_somebody_looked_is_found_by_the_next_look(queue, session):
    let_age(fail(session, queue, error_class="Early"), hours=1)
    summarized(queue)
    late = fail(session, queue, error_class="Late")
    FailureSummary.objects.update(computed_at=now())
    let_age(late, hours=10 / 3600)
    FailureSummary.objects.update(computed_at=F("computed_at") - timedelta(seconds=1))
    assert engine.due(window_hours=24, every_ms=0)


def test_what_leaves_the_window_is_let_go_within_an_hour(queue, session):
    let_age(fail(session, queue, error_class="Old"), hours=3)
    let_age(fail(session, queue, error_class="New"), hours=2)
    assert len(groups(queue)) == 2
    FailureSummary.objects.update(computed_at=F("computed_at") - timedelta(minutes=50))
    assert engine.due(window_hours=24) == []
    FailureSummary.objects.update(computed_at=F("computed_at") - timedelta(minutes=10))
    [due] = engine.due(window_hours=24)
    narrow = engine.Due(due.queue_id, now() - timedelta(hours=2.5))
    assert engine.summarize(narrow, window_hours=24, writes=False)
    assert [one["error_class"] for one in FailureSummary.objects.get().failures] == ["New"]


def test_the_window_is_a_setting(queue, session, settings):
    let_age(fail(session, queue), hours=1.5)
    settings.FAILURE_WINDOW_HOURS = 1
    assert summarized(queue) is None
    settings.FAILURE_WINDOW_HOURS = 2
    assert (summarized(queue).window_hours, summarized(queue).looked_at) == (2, 1)


def test_without_a_model_there_is_no_prose_and_with_one_it_is_pending(queue, session, settings):
    fail(session, queue)
    assert summarized(queue).state == SummaryState.UNAVAILABLE
    fail(session, queue)
    settings.LLM_API_KEY = "k"
    assert summarized(queue).state == SummaryState.PENDING


def test_prose_is_current_while_the_groups_are_the_same_and_stale_when_they_are_not(queue, session, settings):
    settings.LLM_API_KEY = "key"
    fail(session, queue, error_class="A")
    FailureSummary.objects.update(summary="A fails.", told_of=summarized(queue).fingerprint, state="current")
    fail(session, queue, error_class="A")
    assert (summarized(queue).state, summarized(queue).looked_at) == (SummaryState.CURRENT, 2)
    fail(session, queue, error_class="B")
    found = summarized(queue)
    assert (found.state, found.summary) == (SummaryState.STALE, "A fails.")
    settings.LLM_API_KEY = ""
    fail(session, queue, error_class="C")
    found = summarized(queue)
    assert (found.state, found.summary) == (
        SummaryState.UNAVAILABLE,
        "A fails.",
    )  # there is nobody left to write it anew


def test_when_nothing_is_left_there_is_nothing_to_tell(queue, session):
    fail(session, queue, error_class="A")
    FailureSummary.objects.update(summary="A fails.", model="m", told_of=summarized(queue).fingerprint, state="current")
    engine.summarize(engine.Due(queue.pk, now()), window_hours=24, writes=True)
    found = FailureSummary.objects.get()
    assert (found.failures, found.summary, found.model, found.state) == ([], "", "", SummaryState.CURRENT)


def test_a_deleted_queue_is_left_alone(queue, session):
    fail(session, queue)
    [due] = engine.due(window_hours=24)
    queue.deleted_at = now()
    queue.save(update_fields=["deleted_at"])
    assert engine.due(window_hours=24) == []
    assert not engine.summarize(due, window_hours=24, writes=False)
    assert not FailureSummary.objects.exists()


def test_a_turn_takes_so_many_queues_and_goes_on_at_once(queue, session, monkeypatch):
    monkeypatch.setattr("apps.jobs.loops.SUMMARIES_LIMIT", 2)
    monkeypatch.setattr("apps.jobs.loops.due", lambda **asked: engine.due(limit=2, **asked))
    for one in [queue, *(QueueFactory.create() for _ in range(2))]:
        fail(session, one)
    assert (summarize_failures(), FailureSummary.objects.count()) == (0.0, 2)
    assert (summarize_failures(), FailureSummary.objects.count()) == (SUMMARIES_SECONDS, 3)
