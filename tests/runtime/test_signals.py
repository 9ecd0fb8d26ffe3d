"""TERM and INT, once and twice: what runs ends or is handed back, nothing is lost, and the code says so."""

import signal
import subprocess
import time
from contextlib import suppress

import psutil
import pytest

from apps.audit.record import SYSTEM
from apps.jobs.models import Attempt
from apps.jobs.selectors import find
from apps.jobs.services import cancel, submit
from apps.jobs.states import JobState
from apps.workers.models import Session
from tests.processes import Process, effects, final, until, worker

QUICK = ("--lease", "3", "--poll-interval", "0.2")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_lets_what_runs_end(own_database, tmp_path, queue, number):
    """Longer than the lease (case H16): the heart beats until the last job has ended."""
    running = submit(queue=queue, type="effect", payload={"seconds": 4})
    with worker(own_database, tmp_path, *QUICK, "--grace", "30") as process:
        until(lambda: find(running.id).state == JobState.RUNNING)
        process.send(number)
        process.says("worker drains")
        until(lambda: Session.objects.get().draining)  # a claim that was on its way is over, or refused
        waiting = submit(queue=queue, type="effect")
        assert process.wait() == 0
        assert "Traceback" not in process.output
    assert find(running.id).state == JobState.COMPLETED
    assert (find(waiting.id).state, find(waiting.id).attempt) == (JobState.QUEUED, 0)
    assert [attempt for attempt, _, _ in effects(running.id)] == [1]
    assert Session.objects.get().ended_at is not None


def test_a_second_signal_hands_back_at_once_and_spends_no_attempt(own_database, tmp_path, queue):
    deaf = submit(queue=queue, type="effect", payload={"seconds": 60})
    task = submit(queue=queue, type="effect.patient", payload={"seconds": 60})
    with worker(own_database, tmp_path, *QUICK, "--grace", "60") as process:
        until(lambda: {find(deaf.id).state, find(task.id).state} == {JobState.RUNNING})
        process.send(signal.SIGTERM)
        process.says("worker drains")
        again = time.monotonic()
        process.send(signal.SIGTERM)
        assert process.wait() == 0
        assert time.monotonic() - again < 5  # 2 s on a quiet machine
    for job in (deaf, task):
        assert (find(job.id).state, find(job.id).attempt) == (JobState.QUEUED, 0)
    assert set(Attempt.objects.values_list("outcome", flat=True)) == {"released"}


def test_what_outlasts_the_grace_is_handed_back(own_database, tmp_path, queue):
    job = submit(queue=queue, type="effect.patient", payload={"seconds": 60})
    with worker(own_database, tmp_path, *QUICK, "--grace", "0.5") as process:
        until(lambda: find(job.id).state == JobState.RUNNING)
        process.send(signal.SIGTERM)
        assert process.wait() == 0
    assert (find(job.id).state, find(job.id).attempt) == (JobState.QUEUED, 0)


def test_a_running_job_hears_of_its_cancellation_and_is_never_retried(own_database, tmp_path, queue):
    task = submit(queue=queue, type="effect.patient", payload={"seconds": 60})
    polite = submit(queue=queue, type="effect.polite", payload={"seconds": 60})
    with worker(own_database, tmp_path, *QUICK):
        until(lambda: {find(task.id).state, find(polite.id).state} == {JobState.RUNNING})
        answers = [cancel(job_id=job.id, actor=SYSTEM) for job in (task, polite)]
        assert all(answer.cancelling for answer in answers)
        ended = final(task.id, polite.id)
    assert {job.state for job in ended} == {JobState.CANCELLED}
    assert [len(effects(job.id)) for job in ended] == [1, 1]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--queue", "acme/media/nowhere"], "There is no queue acme/media/nowhere"),
        (["--concurrency", "0"], "--concurrency must be between 1 and 10000"),
        (["--concurrency", "-1"], "--concurrency must be between 1 and 10000"),
        (["--types", "no.such.type"], "There is no handler for no.such.type"),
        (["--lease", "0"], "--lease must be between 0.5 and 86400"),
        (["--lease", "inf"], "--lease must be between 0.5 and 86400"),
        (["--grace", "nan"], "--grace must be between 0 and 86400"),
        (["--name", "x" * 129], "--name must have at most 128 characters"),
        (["--health-port", "99999"], "--health-port must be between 0 and 65535"),
        (["--queue", ""], "--queue names no queue"),
        (["--pool", "a:1=type:"], "--pool"),
        (["--memory-per-process", "1"], "--memory-per-process must be 0 or at least 100"),
    ],
)
def test_nonsense_is_refused_in_one_line(own_database, tmp_path, queue, flags, says):
    process = Process("runworker", *flags, database=own_database, log=tmp_path / "log")
    assert process.wait() == 2
    assert says in process.output
    assert "Traceback" not in process.output


def test_an_empty_database_is_named_and_not_stumbled_over(own_database, tmp_path):
    own_database.must_hold = False
    with own_database.connect(autocommit=True) as server:
        server.execute("DROP SCHEMA public CASCADE")
        server.execute("CREATE SCHEMA public")
    process = Process("runworker", database=own_database, log=tmp_path / "log")
    assert process.wait() == 2
    assert "run manage.py migrate" in process.output
    assert "Traceback" not in process.output


def test_a_thread_that_is_not_the_main_one_may_run_a_worker(own_database, queue):
    """As call_command in a test does: no signal handlers can be set there (case H39)."""
    from threading import Thread

    from django.core.management import call_command
    from django.db import connections

    job = submit(queue=queue, type="noop")

    def work() -> None:
        call_command("runworker", "--burst", "--no-scheduler")
        connections.close_all()

    thread = Thread(target=work)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert find(job.id).state == JobState.COMPLETED


@pytest.mark.chaos
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment_of_the_start_ends_it_without_a_word_too_many(own_database, tmp_path, queue, number):
    """Whatever it is doing by then: importing, forking, connecting, registering."""
    for step in range(12):
        process = Process("runworker", "--name", "early", database=own_database, log=tmp_path / f"{step}.log")
        with suppress(subprocess.TimeoutExpired):
            process.popen.wait(0.12 * step)  # not a synchronisation: every moment is as good as any
        process.send(number)
        assert process.wait() in (0, 130, -number)
        assert "Traceback" not in process.output, process.output
        # What it had forked by then sees that it is gone.
        until(lambda: not [one for one in psutil.process_iter() if "early" in " ".join(_command(one))])


def test_a_closed_terminal_is_told_like_any_other_wish_to_stop(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *QUICK) as process:
        job = submit(queue=queue, type="effect", payload={"seconds": 1})
        until(lambda: effects(job.id))
        process.send(signal.SIGHUP)
        assert process.wait() == 0
    assert final(job.id)[0].state == JobState.COMPLETED


def test_it_shows_where_it_stands_when_it_is_asked(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *QUICK) as process:
        process.send(signal.SIGUSR1)
        process.says("runners.py")
        assert final(submit(queue=queue, type="noop").id)[0].state == JobState.COMPLETED


def _command(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []
