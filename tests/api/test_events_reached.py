"""With the end of an attempt comes how far it came and what it saved; with no other fact."""

import pytest

from apps.audit.relay import relay
from apps.jobs.engine.heartbeat import Told
from apps.jobs.engine.last_word import last_word
from tests import acts
from tests.jobs.looks import come_round

pytestmark = pytest.mark.django_db

FIELDS = ("stage", "done", "total", "result_url")


@pytest.fixture
def frames(viewer, queue, results):
    """The facts so far, by kind and attempt."""

    def ask():
        relay()
        told = viewer.get(f"projects/{queue.project_id}/events").json()["results"]
        return {(one["kind"], one["attempt"]): tuple(one[name] for name in FIELDS) for one in told}

    return ask


def say(session, taken, done):
    last_word(session_id=session.pk, told=[(taken.fence, Told(job_id=taken.job_id, done=done, total=9, stage="send"))])


def test_an_attempt_that_ended_says_how_far_it_came(frames, results, queue, session):
    acts.enqueue(queue)
    taken = acts.take_one(session, queue)
    say(session, taken, 9)
    (results / str(taken.job_id)).mkdir()
    (results / str(taken.job_id) / "note.txt").write_bytes(b"kept")
    acts.finish(session, taken)
    seen = frames()
    assert seen["job.completed", 1] == ("send", 9, 9, f"/api/v1/jobs/{taken.job_id}/files/note.txt")
    assert seen["job.enqueued", None] == seen["job.started", 1] == (None,) * 4


def test_one_that_said_and_saved_nothing_says_nothing(frames, queue, session):
    acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue))
    assert frames()["job.completed", 1] == (None,) * 4


def test_what_a_later_attempt_said_is_not_told_of_the_one_before(frames, queue, session):
    job_id = acts.enqueue(queue, max_attempts=2)
    taken = acts.take_one(session, queue)
    say(session, taken, 5)
    acts.finish(session, taken, outcome="retryable_error", error_class="Broken")
    assert frames()["job.retry_wait", 1] == ("send", 5, 9, None)
    come_round(job_id)
    again = acts.take_one(session, queue)
    assert frames()["job.retry_wait", 1] == ("send", 5, 9, None)
    say(session, again, 2)
    assert frames()["job.retry_wait", 1] == frames()["job.started", 2] == (None,) * 4


def test_one_that_said_nothing_does_not_say_what_the_one_before_did(frames, queue, session):
    job_id = acts.enqueue(queue, max_attempts=2)
    taken = acts.take_one(session, queue)
    say(session, taken, 5)
    acts.finish(session, taken, outcome="retryable_error", error_class="Broken")
    come_round(job_id)
    acts.finish(session, acts.take_one(session, queue), outcome="retryable_error", error_class="Broken")
    assert frames()["job.dead_letter", 2] == (None,) * 4


def test_the_same_attempt_after_a_replay_is_another(frames, api, queue, session):
    job_id = acts.enqueue(queue, max_attempts=1)
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error", error_class="Broken")
    api.post(f"jobs/{job_id}/replay")
    again = acts.take_one(session, queue)
    say(session, again, 3)
    acts.finish(session, again)
    seen = frames()
    assert seen["job.completed", 1] == ("send", 3, 9, None)
    assert seen["job.dead_letter", 1] == (None,) * 4
