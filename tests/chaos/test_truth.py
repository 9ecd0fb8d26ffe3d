"""A story that is true passes; each lie planted in the database, the history or the diary is caught by its name."""

import json
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.bench.services.chaos.diary import END, START, Diary, Line, written
from apps.bench.services.chaos.history import CANCELLED, SUBMITTED, History
from apps.bench.services.chaos.truth import QUESTIONS, Strike, judge, story
from apps.jobs.models import Attempt
from tests.acts import enqueue, finish, take_one

PARENT, DONE, LOST, CHILD = "parent", "done", "lost", "child"


class World:
    """Four jobs that were submitted, run and reported as it should be, and what everybody wrote down."""

    def __init__(self, queue, session):
        self.history, self.diary, self.strikes = [], [], []
        self.ids: dict[str, str] = {}
        self.fences: dict[str, int] = {}
        self._submit(queue, PARENT)
        self._run(queue, session, PARENT)
        self._submit(queue, CHILD, parents=[self.ids[PARENT]])
        self._run(queue, session, CHILD)
        self._submit(queue, DONE)
        self._run(queue, session, DONE)
        self._submit(queue, LOST)
        taken = take_one(session, queue)
        self._write(START, LOST, taken.fence)
        finish(session, taken, outcome="lost")
        with connection.cursor() as cursor:
            cursor.execute("UPDATE jobs_job_live SET state = 'queued'")
        self._run(queue, session, LOST)

    def _submit(self, queue, name, parents=()):
        job = enqueue(queue, payload=json.dumps({"mark": name}))
        self.ids[name] = str(job)
        self.history.append({"what": SUBMITTED, "at": time.time(), "id": str(job), "parents": list(parents)})

    def _run(self, queue, session, name):
        taken = take_one(session, queue)
        self._write(START, name, taken.fence)
        self._write(END, name, taken.fence)
        finish(session, taken)
        self.fences[name] = taken.fence

    def _write(self, what, name, fence, at=None):
        self.diary.append(Line(what, self.ids[name], fence, 1, "chaos.task", "w1.1", 7, at or time.time()))

    def forget(self, what, name):
        self.diary = [line for line in self.diary if (line.what, line.job) != (what, self.ids[name])]

    def caught(self):
        """The questions that have an offender."""
        found = judge(story(self.history, self.diary, self.strikes))
        return {name for name, offenders in found.items() if offenders}


@pytest.fixture
def world(db, queue, session):
    return World(queue, session)


def plant(text, *params):
    """Change rows behind the backs of verbs and guards."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('fencepost.guard', 'off', true)")
        cursor.execute(text, params)


def test_a_true_story_has_no_offender(world):
    assert world.caught() == set()


def test_every_question_has_a_lie_below():
    planted = {name.removeprefix("test_").removesuffix("_is_caught") for name in globals()}
    assert QUESTIONS.keys() <= planted


def test_lost_submissions_is_caught(world):
    plant("DELETE FROM jobs_job WHERE id = %s", world.ids[DONE])
    assert "lost_submissions" in world.caught()


def test_a_job_without_an_end_is_a_lost_submission(world, queue):
    job = enqueue(queue)
    world.history.append({"what": SUBMITTED, "at": time.time(), "id": str(job)})
    assert world.caught() == {"lost_submissions"}


def test_made_twice_is_caught(world, queue):
    enqueue(queue, payload=json.dumps({"mark": DONE}))
    assert world.caught() == {"made_twice"}


def test_double_successes_is_caught(world):
    plant(
        "UPDATE jobs_attempt SET outcome = 'success' WHERE job_id = %s",
        world.ids[LOST],
    )
    assert "double_successes" in world.caught()


def test_started_twice_is_caught(world):
    world._write(START, DONE, world.fences[DONE])
    assert world.caught() == {"started_twice"}


def test_completed_without_end_is_caught(world):
    world.forget(END, DONE)
    assert world.caught() == {"completed_without_end", "success_without_end"}


def test_success_without_end_is_caught(world):
    plant(
        "UPDATE jobs_attempt SET outcome = 'success', generation = 2 WHERE job_id = %s AND outcome = 'lost'",
        world.ids[LOST],
    )
    assert world.caught() == {"success_without_end"}


def tell_a_lie(world, session):
    """The handler ended long before the lease did, and the ledger calls it lost."""
    lost = Attempt.objects.get(outcome="lost")
    world._write(END, LOST, lost.fence, at=lost.finished_at.timestamp())
    session.lease_expires_at = timezone.now() + timedelta(seconds=30)
    session.save()
    return lost.finished_at.timestamp()


def test_lying_losses_is_caught(world, session):
    tell_a_lie(world, session)
    assert world.caught() == {"lying_losses"}


@pytest.mark.parametrize(("boot", "excused"), [("w1.1", True), (None, True), ("w2.1", False)])
def test_only_a_fault_that_struck_its_process_excuses_a_loss(world, session, boot, excused):
    at = tell_a_lie(world, session)
    world.strikes = [Strike("kill-worker", at - 1, at + 1, boot)]
    assert world.caught() == (set() if excused else {"lying_losses"})


def test_a_fault_of_long_before_excuses_nothing(world, session):
    at = tell_a_lie(world, session)
    world.strikes = [Strike("cut", at - 60, at - 30)]
    assert world.caught() == {"lying_losses"}


def test_started_after_cancel_is_caught(world):
    before = world.fences[DONE] / 1e6 - 1
    world.history.append({"what": CANCELLED, "at": before, "id": world.ids[DONE]})
    assert world.caught() == {"started_after_cancel"}


def test_a_cancel_that_came_later_is_no_lie(world):
    world.history.append({"what": CANCELLED, "at": time.time(), "id": world.ids[DONE]})
    assert world.caught() == set()


def test_started_before_parents_is_caught(world):
    plant("UPDATE jobs_job SET finished_at = finished_at + interval '1 minute' WHERE id = %s", world.ids[PARENT])
    assert world.caught() == {"started_before_parents"}


def test_ran_unknown_is_caught(world):
    world.diary.append(Line(START, "00000000-0000-7000-8000-000000000000", 1, 1, "chaos.task", "w1.1", 7, time.time()))
    assert world.caught() == {"ran_unknown"}


def test_a_handler_writes_its_start_and_how_it_went(tmp_path, monkeypatch):
    path = tmp_path / "diary"
    monkeypatch.setenv("CHAOS_DIARY", str(path))
    ctx = SimpleNamespace(job_id="j", fence=1, generation=1, type="chaos.task")
    with written(ctx):
        pass
    ctx.fence = 2
    with pytest.raises(ValueError, match="no"), written(ctx):
        raise ValueError("no")
    diary = Diary(path)
    with path.open("ab") as file:
        file.write(b'{"what": "st')  # being written
    diary.look()
    assert [(line.what, line.fence) for line in diary.lines] == [("start", 1), ("end", 1), ("start", 2), ("fail", 2)]
    assert diary.running("") == []


def test_what_a_customer_was_told_is_read_back(tmp_path):
    history = History(tmp_path / "history")
    history.note(SUBMITTED, id="a", mark="m", parents=[])
    history.close()
    history.note(SUBMITTED, id="late", mark="m", parents=[])
    assert [told["id"] for told in history.read()] == ["a"]
