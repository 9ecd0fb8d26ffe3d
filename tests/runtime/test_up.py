"""`manage.py up`: what serves and what works begin together and end together."""

import signal
import socket

import psutil
import pytest

from tests.processes import Process, until
from tests.trouble.servers import free_port

pytestmark = pytest.mark.chaos


@pytest.fixture
def served(own_database, tmp_path):
    port = free_port()
    process = Process("up", "--port", str(port), database=own_database, log=tmp_path / "log")
    until(lambda: listens(port), within=60, what=lambda: process.output)
    process.says("worker started", within=60)
    yield process
    for one in psutil.Process(process.popen.pid).children(recursive=True) if process.popen.poll() is None else []:
        one.kill()
    process.kill()


def listens(port):
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def crew(process):
    return psutil.Process(process.popen.pid).children(recursive=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_ends_its_worker(served, number):
    working = crew(served)
    assert working
    served.send(number)
    assert served.wait(within=40) == 0
    until(lambda: not any(one.is_running() for one in working))
    assert "Traceback" not in served.output


def test_it_ends_with_its_worker_and_says_how_that_ended(served):
    [worker] = [one for one in psutil.Process(served.popen.pid).children() if "runworker" in one.cmdline()]
    worker.kill()
    assert served.wait(within=40) != 0
    assert "the worker ended" in served.output
