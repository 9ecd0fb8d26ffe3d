"""Two releases work side by side: what only one knows waits for it, and what was renamed is still known."""

import time

import psutil
import pytest

from apps.jobs import services
from apps.jobs.engine.unannounced import unannounced
from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import find
from apps.jobs.states import JobState
from apps.workers.models import Session
from tests.jobs.looks import ANN
from tests.processes import Process, final, until, worker

pytestmark = pytest.mark.chaos

DEPLOY = {"DJANGO_SETTINGS_MODULE": "tests.deploy.settings"}
OLD = DEPLOY | {"CODE": "old", "CODE_VERSION": "2027.1"}
NEW = DEPLOY | {"CODE": "new", "CODE_VERSION": "2027.2", "CAPABILITIES": '{"gpu": "L4"}'}
FLAGS = ("--poll-interval", "0.2", "--lease", "10", "--concurrency", "20")
WINDOW = 2.0  # seconds a worker is watched for spinning


def submit(queue, type, count=1, **payload):
    return [services.submit(queue=queue, type=type, payload=payload, max_attempts=1).id for _ in range(count)]


def states(ids) -> set[tuple[str, int]]:
    return set(Job.objects.filter(id__in=ids).values_list("state", "attempt"))


def assert_it_does_not_spin(process: Process) -> None:
    """It looks now and then; its processor time, unlike the clock, does not depend on who else is busy."""
    me = psutil.Process(process.popen.pid)
    before = sum(me.cpu_times()[:2])
    time.sleep(WINDOW)  # what is measured is a span of time
    assert sum(me.cpu_times()[:2]) - before < 0.25 * WINDOW, process.output


def assert_both_say_what_they_are() -> None:
    said = Session.objects.order_by("id").values_list("worker__uid", "version", "capabilities__gpu")
    assert list(said) == [("old", "2027.1", None), ("new", "2027.2", "L4")]
    assert all(rss > 0 for rss in Session.objects.values_list("sample__memory__rss", flat=True))


def test_old_and_new_code_share_a_queue(own_database, tmp_path, queue):
    gate = tmp_path / "gate"
    with worker(own_database, tmp_path, *FLAGS, name="old", **OLD) as old:
        dead = submit(queue, "t1", fails="old")
        assert [job.state for job in final(*dead)] == [JobState.DEAD_LETTER]
        running = submit(queue, "t1", 5, gate=str(gate))
        until(lambda: states(running) == {(JobState.RUNNING, 1)})
        waiting = submit(queue, "t2", 100)
        final(*submit(queue, "noop", 10))
        assert_it_does_not_spin(old)
        assert states(waiting) == {(JobState.QUEUED, 0)}
        assert [(one.type, one.jobs, one.known_until) for one in unannounced(queue_ids=[queue.pk])] == [
            ("t2", 100, None)
        ]
        with worker(own_database, tmp_path, *FLAGS, name="new", **NEW):
            assert {(job.result, job.attempt) for job in final(*waiting)} == {("new", 1)}
            assert unannounced(queue_ids=[queue.pk]) == []
            assert_both_say_what_they_are()
            old.send(15)
            until(lambda: "worker drains" in old.output)
            renamed = submit(queue, "t1", 50)
            assert {job.result for job in final(*renamed)} == {"new"}
            gate.touch()
            assert {(job.result, job.attempt) for job in final(*running)} == {("old", 1)}
            assert old.wait() == 0
            services.replay(job_id=dead[0], actor=ANN)
            assert final(*dead)[0].result == "new"
    assert Attempt.objects.filter(job_id__in=waiting).count() == 100
    assert set(Attempt.objects.filter(job_id__in=waiting).values_list("outcome", flat=True)) == {"success"}


def test_what_does_not_fit_fails_alone_and_says_why(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FLAGS, name="new", **NEW):
        [lacking] = submit(queue, "strict", path="a.png")
        [extra] = submit(queue, "strict", path="a.png", size=7, colour="red")
        [never] = submit(queue, "os.system")
        others = submit(queue, "strict", 5, path="a.png", size=7)
        assert {job.result for job in final(*others)} == {"a.png 7"}
        final(lacking, extra)
        said = dict(Attempt.objects.filter(job_id__in=[lacking, extra]).values_list("job_id", "error_message"))
        assert "missing 1 required keyword-only argument: 'size'" in (said[lacking] or "")
        assert "unexpected keyword argument 'colour'" in (said[extra] or "")
        assert (find(never).state, find(never).attempt) == (JobState.QUEUED, 0)


def test_a_release_whose_handlers_do_not_import_stops_with_the_modules_name(own_database, tmp_path):
    broken = DEPLOY | {"CODE": "broken"}
    process = Process("runworker", database=own_database, log=tmp_path / "broken.log", **broken)
    assert process.wait() == 2
    assert "tests.deploy.workload.handlers cannot be imported: RuntimeError: half a deploy (" in process.output
    assert "Traceback" not in process.output
