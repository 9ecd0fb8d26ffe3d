"""Local and remote workers at the same queues, killed without warning, and the server too: nothing is lost or done twice."""

import os
import random
import signal
import time
from contextlib import ExitStack, contextmanager

import pytest

from apps.jobs import services
from apps.jobs.models import Attempt, Job
from apps.workers.models import Session
from tests.processes import Process, final, worker
from tests.remote.programs import LEASE, Program
from tests.remote.serving import serving

pytestmark = pytest.mark.chaos
SHORT = os.environ.get("SHORT") == "1"
SECONDS = 8 if SHORT else 25
JOBS = 100 if SHORT else 300


def submit(queue, count):
    """Jobs that outlive many workers."""
    jobs = [{"type": "sleep", "payload": {"ms": 300}, "max_attempts": 100, "max_losses": 100} for _ in range(count)]
    return [job.job_id for job in services.submit_batch(queue=queue, jobs=jobs).jobs]


def _end(crew):
    for one in crew.values():
        one.kill()


@contextmanager
def site(database, folder, token):
    """A server, two local workers, a scheduler and three remote workers."""
    with ExitStack() as stack:
        server = stack.enter_context(serving(database, folder))
        for name in ("local-1", "local-2"):
            flags = ("--lease", str(LEASE), "--concurrency", "1", "--processes", "0", "--no-scheduler")
            stack.enter_context(worker(database, folder, *flags, name=name))
        scheduler = Process("runscheduler", database=database, log=folder / "scheduler.log")
        stack.callback(scheduler.kill)
        crew = {uid: Program(server, token, folder, uid) for uid in ("far-1", "far-2", "far-3")}
        stack.callback(_end, crew)
        for uid, one in crew.items():
            one.says(f"of {uid}", within=40)
        yield server, crew


def havoc(server, crew, start):
    """Kill one after the other, the server in the middle, and start each again."""
    dice = random.Random(7)  # noqa: S311
    end, kills = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        time.sleep(dice.uniform(0.3, 1.2))
        uid = dice.choice(sorted(crew))
        crew[uid].kill()
        crew[uid] = start(uid)
        kills += 1
        if kills == SECONDS // 2:
            server.kill()
            server.start()
    assert kills > 3


def test_workers_of_both_kinds_under_kills_finish_each_job_once(own_database, queue, token, tmp_path):
    with site(own_database, tmp_path, token) as (server, crew):
        ids = submit(queue, JOBS)
        havoc(server, crew, lambda uid: Program(server, token, tmp_path, uid))
        jobs = final(*ids, within=120)
        for one in crew.values():
            one.send(signal.SIGTERM)
        assert [one.ends() for one in crew.values()] == [0, 0, 0]
        final(*submit(queue, 3), within=30)
    assert {job.state for job in jobs} == {"completed"}
    assert Attempt.objects.filter(outcome="success").count() == JOBS + 3
    lost = Attempt.objects.filter(outcome="lost")
    assert lost.exists()
    assert set(lost.values_list("error_class", flat=True)) == {"WorkerLost"}
    far = Session.objects.filter(worker__organization=queue.project.organization).values("pk")
    assert Attempt.objects.filter(outcome="success", session_id__in=far).count() > JOBS / 10
    assert not Job.objects.filter(state="running").exists()
