"""What a remote worker says while it works, and what it hears."""

import pytest

from apps.jobs.engine.cancel import cancel
from apps.jobs.models import JobLog, Progress
from apps.workers.models import Session
from tests import acts
from tests.api.caller import pointers
from tests.factories import QueueFactory
from tests.remote.conftest import api_of, begin, pair

pytestmark = pytest.mark.django_db


def test_a_heartbeat_keeps_the_lease(remote):
    session = Session.objects.get(pk=remote.id)
    acts.fall_silent(session)
    assert remote.beat() == {"cancel": [], "lost": [], "unknown": [], "drain": False}
    session.refresh_from_db()
    assert session.lease_expires_at > session.heartbeat_at


def test_progress_and_lines_are_kept(remote, queue):
    acts.enqueue(queue)
    job = remote.one()
    line = {**pair(job), "line": 1, "level": "warning", "message": "odd"}
    remote.beat(progress=[{**pair(job), "done": 3, "total": 10, "stage": "resize"}], logs=[line])
    assert (Progress.objects.get().done, Progress.objects.get().stage) == (3, "resize")
    kept = JobLog.objects.get()
    assert (str(kept.job_id), kept.line, kept.attempt, kept.level, kept.message) == (job["job"], 1, 1, "warning", "odd")


def test_lines_come_with_a_report_too_and_not_twice(remote, queue):
    acts.enqueue(queue)
    job = remote.one()
    said = {"results": [{**pair(job), "outcome": "success"}], "logs": [{**pair(job), "line": 1, "message": "done"}]}
    for _ in range(2):
        assert remote.said("report", **said) == {"fenced": []}
    assert JobLog.objects.count() == 1


def test_what_it_said_last_comes_with_a_report(remote, queue):
    acts.enqueue(queue)
    job = remote.one()
    remote.beat(progress=[{**pair(job), "done": 3}])
    said = {"results": [{**pair(job), "outcome": "success"}], "progress": [{**pair(job), "done": 4, "stage": "done"}]}
    for _ in range(2):
        assert remote.said("report", **said) == {"fenced": []}
    assert (Progress.objects.get().done, Progress.objects.get().stage) == (4, "done")


def test_nobody_writes_of_jobs_that_are_not_its_own(remote, queue):
    theirs = QueueFactory.create()
    acts.enqueue(theirs)
    job = begin(api_of(theirs.project.organization), "theirs").one()
    remote.beat(progress=[{**pair(job), "done": 1}], logs=[{**pair(job), "line": 1, "message": "planted"}])
    assert not JobLog.objects.exists()
    assert not Progress.objects.exists()


def test_it_hears_what_to_stop_what_is_lost_and_what_it_does_not_know(remote, queue):
    ids = [acts.enqueue(queue) for _ in range(3)]
    kept, lost, unheard = remote.claim()
    cancel(job_id=ids[0])
    cancel(job_id=ids[1], force=True)
    told = remote.beat(kept, lost)
    assert told["cancel"] == [pair(kept)]
    assert told["lost"] == [pair(lost)]
    assert told["unknown"] == [pair(unheard)]
    assert remote.report(unheard, outcome="released") == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"held": [{"job": "x", "fence": "1"}]}, "#/held/0/job"),
        ({"held": [{"job": "01a22856-3bac-754a-b89f-8e8e9e32e5c7"}]}, "#/held/0/fence"),
        ({"progress": [{"job": "01a22856-3bac-754a-b89f-8e8e9e32e5c7", "fence": "1", "done": -1}]}, "#/progress/0/done"),
        ({"sample": []}, "#/sample"),
        ({"logs": [{"job": "01a22856-3bac-754a-b89f-8e8e9e32e5c7", "fence": "1", "line": 0, "message": ""}]}, "#/logs/0/line"),
        ({"mood": "fine"}, "#/mood"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(remote, body, pointer):
    assert pointers(remote.ask("heartbeat", **body)) == [pointer]
