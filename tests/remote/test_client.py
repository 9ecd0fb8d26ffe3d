"""The client of the docs, as a process, against a real server: killed, frozen, told to stop, and the server gone."""

import json
import signal
import subprocess
import sys
import time

import pytest

from apps.jobs import services
from apps.jobs.models import Attempt, Job, JobLog, Progress
from apps.jobs.selectors import find
from apps.workers.models import Session
from tests.processes import Process, final, until
from tests.remote.programs import LEASE, PROGRAM, Program
from tests.remote.serving import serving

pytestmark = pytest.mark.chaos


@pytest.fixture
def server(own_database, tmp_path):
    with serving(own_database, tmp_path) as server:
        yield server


@pytest.fixture
def scheduler(own_database, tmp_path):
    """Somebody takes back what silent workers held."""
    process = Process("runscheduler", "--only", "reap,promote", database=own_database, log=tmp_path / "scheduler.log")
    yield process
    process.kill()


@pytest.fixture
def program(server, token, tmp_path):
    begun = []

    def start(uid="p1", **options):
        begun.append(Program(server, token, tmp_path, uid, **options))
        begun[-1].says(f"of {uid}")
        return begun[-1]

    yield start
    for one in begun:
        one.kill()


def submit(queue, kind="ping", **fields):
    return services.submit(queue=queue, type=kind, **fields).pk


def running(job_id):
    until(lambda: find(job_id).state == "running")


def outcomes(job_id):
    return list(Attempt.objects.filter(job_id=job_id).order_by("fence").values_list("outcome", flat=True))


def test_it_does_what_handlers_do(program, queue):
    one = program(slots=4)
    ids = [submit(queue) for _ in range(20)]
    bad, huge, chain, count = (submit(queue, kind) for kind in ("bad", "huge", "chain", "count"))
    assert all(job.result == {"attempt": 1} for job in final(*ids))
    assert JobLog.objects.filter(message="pong").count() >= 20
    final(bad, huge, chain, count)
    assert Progress.objects.get(job_id=count).done == 9  # no heartbeat came between it and the end
    assert [(find(job).state, find(job).reason) for job in (bad, huge)] == [("dead_letter", "permanent_error")] * 2
    assert Attempt.objects.get(job_id=huge).error_class == "ReportRefused"
    until(lambda: Job.objects.filter(payload={"after": str(chain)}, state="completed").exists())
    one.send(signal.SIGTERM)
    assert one.ends(5) == 0
    assert Session.objects.get().ended_at is not None


@pytest.mark.parametrize(("kind", "error"), [("set", "TypeError"), ("exit", "SystemExit"), ("text", "ValueError")])
def test_what_cannot_be_kept_is_an_error_of_its_job_and_of_nobody_else(program, queue, kind, error):
    program()
    job_id = submit(queue, "odd", payload=kind, max_attempts=1)
    final(job_id)
    [attempt] = Attempt.objects.filter(job_id=job_id)
    assert (attempt.outcome, attempt.error_class) == ("retryable_error", error)
    after = submit(queue)
    final(after)
    assert outcomes(after) == ["success"]


def test_what_a_handler_says_on_its_way_costs_nobody_the_lease(program, queue):
    program(slots=2)
    beside, job_id = submit(queue, "sleep", payload={"ms": 5000}), submit(queue, "odd", payload="words")
    assert [job.result for job in final(job_id, beside)] == ["kept", None]
    assert outcomes(job_id) == outcomes(beside) == ["success"]
    assert Progress.objects.get(job_id=job_id).done == 0
    assert JobLog.objects.filter(job_id=job_id, level="info").count() == 2


def test_one_that_is_killed_loses_its_job_to_another_within_its_lease(program, scheduler, queue):
    one = program("killed")
    job_id = submit(queue, "pause", payload={"seconds": 60})
    running(job_id)
    until(lambda: Progress.objects.filter(job_id=job_id).exists())
    one.send(signal.SIGKILL)
    Job.objects.filter(pk=job_id).update(payload={"seconds": 0})
    program("other")
    began = time.monotonic()
    [job] = final(job_id, within=30)
    assert (job.state, job.attempt, job.losses) == ("completed", 2, 1)
    assert outcomes(job_id) == ["lost", "success"]
    assert time.monotonic() - began < LEASE + 15


def test_one_that_is_frozen_past_its_lease_is_fenced_and_begins_anew(program, scheduler, queue):
    one = program("frozen")
    job_id = submit(queue, "sleep", payload={"ms": 6000})
    running(job_id)
    one.send(signal.SIGSTOP)
    other = program("other")
    until(lambda: outcomes(job_id) == ["lost"])
    one.send(signal.SIGCONT)
    one.says("was silent for too long")
    one.says("fenced: the job has moved on")  # what it did in its old session is told all the same, and counted
    final(job_id, within=40)
    assert outcomes(job_id) == ["lost", "success"]
    until(lambda: Session.objects.filter(worker__uid="frozen").count() == 2)
    assert Session.objects.filter(worker__uid="frozen", fenced_writes=1).count() == 1
    other.send(signal.SIGTERM)
    other.ends()
    [job] = final(submit(queue))
    assert job.result == {"attempt": 1}


def test_a_server_that_restarts_costs_no_attempt(program, server, queue):
    program("steady")
    job_id, later = submit(queue, "pause", payload={"seconds": 1}), submit(queue, "pause", payload={"seconds": 1})
    running(job_id)
    server.kill()
    time.sleep(1.5)  # the handlers end while nobody answers
    server.start()
    assert [(job.state, job.attempt) for job in final(job_id, later)] == [("completed", 1)] * 2
    assert final(submit(queue))[0].attempt == 1
    assert Session.objects.count() == 1


def test_told_to_stop_it_finishes_what_ends_in_time_and_hands_back_the_rest(program, queue, tmp_path):
    one = program("leaving", grace=5)
    short, long = submit(queue, "wait", payload=str(tmp_path / "go")), submit(queue, "pause", payload={"seconds": 60})
    running(short)
    running(long)
    one.send(signal.SIGTERM)
    until(lambda: Session.objects.get().draining)
    (tmp_path / "go").touch()
    assert one.ends(30) == 0
    assert find(short).state == "completed"
    assert (find(long).state, find(long).attempt) == ("queued", 0)


def test_a_second_process_of_its_name_ends_it(program, queue):
    one = program("twin")
    program("twin")
    assert one.ends(20) == 3


def test_the_program_needs_nothing_but_python(tmp_path):
    client = PROGRAM.parents[2] / "docs" / "clients" / "fencepost_client.py"
    out = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys, runpy, json; sys.path.insert(0, {str(client.parent)!r}); print(json.dumps(sorted(runpy.run_path({str(client)!r}))))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Worker" in json.loads(out.stdout)
