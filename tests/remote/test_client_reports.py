"""What the client of the docs does with reports that nobody can take any more, without a server."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "clients"))

from fencepost_client import Away, Job, Refused, Worker

CLAIM = {"fence": "1", "type": "ping", "payload": None, "attempt": 1, "idempotency_key": "k", "limit_ms": 60_000}


@pytest.fixture
def worker(monkeypatch) -> Worker:
    """In its second session; the first is forgotten by the server."""
    made = Worker("http://nowhere", token="fp_x", uid="w")
    made.session = "second"

    def send(method: str, path: str, body: Any = None, *, seconds: float = 15) -> Any:
        if "/first/" in path:
            raise Refused(404, {"code": "not_found"})
        return {"fenced": []}

    monkeypatch.setattr(made.api, "send", send)
    return made


def ended(worker: Worker, job_id: str, session: str) -> list[tuple[Job, dict[str, Any]]]:
    job = Job({**CLAIM, "job": job_id}, session)
    worker.ended.append((job, {"outcome": "success"}))
    return [worker.ended[-1]]


def test_a_report_of_a_session_that_is_forgotten_holds_up_no_other(worker):
    old, new = ended(worker, "a", "first"), ended(worker, "b", "second")
    worker._report(old)
    assert worker.ended == new
    worker._report(new)
    assert worker.ended == []


def test_of_the_session_it_has_a_new_one_begins_and_then_it_is_let_go(worker, monkeypatch):
    worker.session = "first"
    monkeypatch.setattr(worker, "_begin", lambda: setattr(worker, "session", "second"))
    monkeypatch.setattr(worker, "lease", 0.0)
    old = ended(worker, "a", "first")
    with pytest.raises(Away):
        worker._report(old)
    assert worker.ended == old
    worker._report(old)
    assert worker.ended == []
