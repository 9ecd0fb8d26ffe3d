"""What probes are told: progress, not the mere existence of a process."""

import json
import signal
import socket
import time
from http.client import HTTPConnection
from typing import Any
from uuid import uuid4

import pytest

from apps.jobs.selectors import find
from apps.jobs.services import submit
from apps.jobs.states import JobState
from apps.runtime.supervisor.liveness import Liveness
from apps.runtime.supervisor.options import Options
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire
from tests.processes import Process, until, worker


def ask(port: int, path: str, method: str = "GET") -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, json.load(answer)


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


def test_a_worker_answers_probes_until_it_ends(own_database, tmp_path, queue, port):
    file = tmp_path / "health.json"
    flags = ("--health-port", str(port), "--health-file", str(file), "--poll-interval", "0.2", "--grace", "30")
    with worker(own_database, tmp_path, *flags) as process:
        until(lambda: ask(port, "/readyz")[0] == 200)
        job = submit(queue=queue, type="effect.polite", payload={"seconds": 60})
        until(lambda: find(job.id).state == JobState.RUNNING)
        status, facts = ask(port, "/livez")
        assert (status, facts["live"], facts["database"], facts["running"], facts["slots"]) == (200, True, True, 1, 10)
        assert facts["session_id"] == str(find(job.id).session_id)
        until(lambda: json.loads(file.read_text())["running"] == 1)
        assert ask(port, "/nowhere")[0] == 404
        assert ask(port, "/livez", "POST")[0] == 405
        second = Process("runworker", "--name", "w2", *flags, database=own_database, log=tmp_path / "second")
        assert second.wait() == 2
        assert f"Cannot listen on port {port}" in second.output
        assert "Traceback" not in second.output
        process.send(signal.SIGTERM)
        until(lambda: ask(port, "/readyz")[0] == 503)
        assert ask(port, "/livez")[0] == 200
        process.send(signal.SIGTERM)
        assert process.wait() == 0
    assert not file.exists()


CASES = [
    # claim age, heartbeat age, database reached for (None: not) → live, ready
    (1, 1, 1000, True, True),
    (40, 1, 1000, False, False),
    (1, 40, 1000, False, False),
    (400, 400, None, True, False),  # away: a new process would fare no better
    (400, 400, 2, True, True),  # just back: it has not had its turn
]


@pytest.mark.parametrize(("claim", "beat", "reached", "live", "ready"), CASES)
async def test_live_is_who_gets_on_with_it(claim, beat, reached, live, ready):
    state, wire, now = State(Options(health_seconds=30, poll_interval=1)), Wire("claims"), time.monotonic()
    state.claimed_at, state.beat_at = now - claim, now - beat
    state.session_id = uuid4()
    wire.reached, wire.reached_at = reached is not None, now - (reached or 0)
    facts = Liveness(state, [wire]).facts()
    assert (facts["live"], facts["ready"]) == (live, ready)
    state.stop()
    facts = Liveness(state, [wire]).facts()
    assert (facts["live"], facts["ready"]) == (True, False)
