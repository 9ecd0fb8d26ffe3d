"""Workers that are killed, frozen or replaced: no job is lost, none succeeds twice (case H15)."""

import random
import signal
import socket
import time

import pytest
from django.db import connection

from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import find
from apps.jobs.services import submit, submit_batch
from apps.jobs.states import FINAL, JobState
from apps.workers.models import Session
from tests.processes import effects, final, until, worker

LEASE = 2.0
QUICK = ("--lease", str(LEASE), "--poll-interval", "0.2")


def test_jobs_of_a_killed_worker_run_again_elsewhere(own_database, tmp_path, queue):
    made = [submit(queue=queue, type="effect", payload={"seconds": 60 if n == 0 else 0.1}) for n in range(4)]
    with worker(own_database, tmp_path, *QUICK, name="first") as first:
        until(lambda: effects(made[0].id))
        first.send(signal.SIGKILL)
        killed_at = time.monotonic()
        first.wait()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job_live SET payload = '{}'")  # the second run is short
    with worker(own_database, tmp_path, *QUICK, name="second"):
        final(*[job.id for job in made])
        recovered = time.monotonic() - killed_at
    assert [attempt for attempt, _, _ in effects(made[0].id)] == [1, 2]
    assert recovered < LEASE + 2 + 5 + 15  # lease, sweep, what the case allows, and a second worker's start
    lost, done = Attempt.objects.filter(job_id=made[0].id).order_by("attempt")
    assert (lost.outcome, lost.error_class, done.outcome) == ("lost", "WorkerLost", "success")


def test_a_successor_of_the_same_name_takes_over_at_once(own_database, tmp_path, queue):
    """The same name on the same host, as after a container's restart: no need to wait for the lease."""
    job = submit(queue=queue, type="effect", payload={"seconds": 60})
    with worker(own_database, tmp_path, "--lease", "600", "--poll-interval", "0.2") as first:
        until(lambda: find(job.id).state == JobState.RUNNING)
        first.send(signal.SIGKILL)
        first.wait()
    with worker(own_database, tmp_path, "--lease", "600", "--poll-interval", "0.2") as second:
        until(lambda: find(job.id).attempt == 2, within=30, what=lambda: second.output)
    assert Session.objects.filter(hostname=socket.gethostname(), fenced_at=None).count() == 1


def test_a_worker_whose_name_is_taken_ends_and_says_so(own_database, tmp_path, queue):
    with (
        worker(own_database, tmp_path, *QUICK) as first,
        worker(own_database, tmp_path, *QUICK) as second,
    ):
        assert first.wait() == 3
        assert "another process registered as this worker" in first.output
        assert "Traceback" not in first.output
        assert second.popen.poll() is None
        assert final(submit(queue=queue, type="noop").id)[0].state == JobState.COMPLETED


@pytest.mark.chaos
def test_a_frozen_worker_cannot_finish_what_it_lost(own_database, tmp_path, queue):
    job = submit(queue=queue, type="effect", payload={"seconds": 1.0})
    with worker(own_database, tmp_path, *QUICK, name="frozen") as frozen:
        until(lambda: find(job.id).state == JobState.RUNNING)
        frozen.send(signal.SIGSTOP)
        with worker(own_database, tmp_path, *QUICK, name="other"):
            until(lambda: find(job.id).state == JobState.COMPLETED, within=30)
            frozen.send(signal.SIGCONT)
            frozen.says("session lapsed; starting a new one")
            again = submit(queue=queue, type="noop")
            final(again.id)
    outcomes = list(Attempt.objects.filter(job_id=job.id).order_by("fence").values_list("outcome", flat=True))
    assert outcomes == ["lost", "success"]


@pytest.mark.chaos
def test_kill_at_random_over_300_jobs(own_database, tmp_path, queue):
    """Every job final, one success each; the fixture checks the invariants."""
    dice = random.Random(seed := random.SystemRandom().randrange(10**6))  # noqa: S311
    jobs = [{"type": "effect", "payload": {"seconds": 0.05}, "max_attempts": 20, "max_losses": 20}] * 300
    made = submit_batch(queue=queue, jobs=jobs)
    ids = [job.job_id for job in made.jobs]
    kills = 0
    while Job.objects.filter(id__in=ids, state__in=FINAL).count() < 300:
        flags = (*QUICK, "--concurrency", "8")
        with worker(own_database, tmp_path, *flags, name=f"w{kills % 2}") as process:
            if kills < 5:
                started = len(effects())
                until(lambda: len(effects()) >= min(started + 5, 300))  # noqa: B023
                time.sleep(dice.uniform(0, 0.3))  # where in a job's life the kill falls
                process.send(signal.SIGKILL)
                process.wait()
                kills += 1
            else:
                until(lambda: Job.objects.filter(id__in=ids, state__in=FINAL).count() == 300, within=60)
    assert Job.objects.filter(id__in=ids, state=JobState.COMPLETED).count() == 300
    assert Attempt.objects.filter(outcome="success").count() == 300
    assert Attempt.objects.filter(outcome="lost").count() > 0, f"no kill hit a running job, seed {seed}"
