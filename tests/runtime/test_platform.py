"""Nothing starts by being imported, and only a scheduler schedules (case H39)."""

import os
import socket
import subprocess
import sys
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from apps.jobs.selectors import find
from apps.jobs.services import submit
from apps.jobs.states import JobState
from tests.acts import make_due
from tests.processes import Process, final, until, worker

LOOK = """
import os, threading
before = len(os.listdir("/proc/self/fd"))
import django; django.setup()
import config.urls, apps.runtime.supervisor
from apps.runtime.services import discover
discover.handlers(); discover.loops()
from django.db import connection
sockets = [fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")
           and os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")]
print(threading.active_count(), connection.connection, len(sockets))
"""


def test_importing_everything_starts_no_thread_and_no_connection(own_database):
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, env=env)
    assert done.stdout.split() == ["1", "None", "0"], done.stderr


@pytest.mark.chaos
def test_only_a_scheduler_promotes_however_many_web_processes_run(own_database, tmp_path, queue):
    """The development server with its reloader, a check and a shell beside one scheduler."""
    job = submit(queue=queue, type="noop", delay_seconds=3600)
    make_due(job.id)
    address = f"127.0.0.1:{_free_port()}"
    web = Process("runserver", address, database=own_database, log=tmp_path / "web")
    scheduler: Process | None = None
    try:
        until(lambda: _answers(f"http://{address}/accounts/login/"), within=60, what=lambda: web.output)
        for command in (["check"], ["shell", "-c", "pass"]):
            subprocess.run([sys.executable, "manage.py", *command], check=True, capture_output=True)
        assert find(job.id).state == JobState.SCHEDULED
        scheduler = Process("runscheduler", "--only", "promote", database=own_database, log=tmp_path / "scheduler")
        until(lambda: find(job.id).state == JobState.QUEUED, what=lambda: scheduler.output)
        scheduler.popen.terminate()
        assert scheduler.wait() == 0
    finally:
        web.kill()
        if scheduler is not None:
            scheduler.kill()


def test_a_scheduler_refuses_a_loop_it_does_not_know(own_database, tmp_path):
    process = Process("runscheduler", "--only", "dance", database=own_database, log=tmp_path / "log")
    assert process.wait() == 2
    assert "There is no loop dance; there are" in process.output


@pytest.mark.parametrize("env", [{"TZ": "", "LANG": "C", "LC_ALL": "C"}, {"PYTHONOPTIMIZE": "1", "TZ": "Asia/Tokyo"}])
def test_a_worker_runs_in_a_poor_environment(own_database, tmp_path, queue, env):
    job = submit(queue=queue, type="echo", payload={"é": "ü"})
    with worker(own_database, tmp_path, "--burst", **env) as process:
        assert process.wait() == 0
    assert final(job.id)[0].result == {"é": "ü"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=5) as response:  # noqa: S310 - our own server
            return bool(response.status == 200)
    except (URLError, OSError):
        return False
