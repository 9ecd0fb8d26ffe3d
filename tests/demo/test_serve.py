"""The demo that keeps serving: through the real API, with pages, until it is told to end."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from django.conf import settings
from PIL import Image

from apps.audit.record import Actor
from apps.demo.services.children import Children, Died, free_port
from apps.jobs import services
from apps.jobs.models import Job


@pytest.fixture
def serving(own_database, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running demo and what it has said once it serves."""
    folder = tmp_path / "mine"
    folder.mkdir()
    Image.new("RGB", (900, 600), "teal").save(folder / "a.jpg")
    (folder / "broken.png").write_bytes(b"\x89PNG")
    demo = subprocess.Popen(
        [sys.executable, "manage.py", "demo", "--dir", str(folder)],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": own_database.url, "RESULTS_DIR": str(tmp_path / "var" / "results")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert demo.stdout is not None
    said = ""
    try:
        while "Ctrl-C ends it." not in said:
            line = demo.stdout.readline()
            assert line, said
            said += line
        yield demo, said
    finally:
        demo.send_signal(signal.SIGTERM)
        demo.communicate(timeout=60)


def test_it_submits_over_the_api_and_serves_what_came_of_it_until_ctrl_c(serving):
    demo, said = serving
    address = re.search(r"Serving at (\S+)", said)[1]  # type: ignore[index]
    token = re.search(r"fp_\S+", said)[0]  # type: ignore[index]
    assert "2 of 4 jobs completed, 1 ended as dead letters, 1 waits for your word" in said
    assert "fencepost-demo" in said

    sheet = Job.objects.get(type="image.contact_sheet")
    assert f"{address}/jobs/{sheet.pk}" in said
    assert sheet.submitted_by is not None
    bearer = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"{address}{sheet.result['sheet']}", headers=bearer, trust_env=False)  # type: ignore[index]
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")

    album = Job.objects.get(type="image.publish")
    assert f"{address}/jobs/{album.pk}   (approve it there" in said
    services.approve(job_id=album.pk, actor=Actor(name="member@demo.example"))
    until = time.monotonic() + 60
    while Job.objects.get(pk=album.pk).state != "completed":
        assert time.monotonic() < until, Job.objects.get(pk=album.pk).state
        assert demo.poll() is None

    children = psutil.Process(demo.pid).children()
    assert len(children) == 2
    demo.send_signal(signal.SIGINT)
    out, _ = demo.communicate(timeout=60)
    assert (demo.returncode, out.strip()) == (0, "Ended.")
    assert not any(child.is_running() for child in children)
    with pytest.raises(httpx.ConnectError):
        httpx.get(address, trust_env=False)


def test_a_port_that_is_taken_is_passed_over():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) > port


def test_a_child_that_ends_by_itself_is_told_with_its_last_words(settings, tmp_path):
    settings.RESULTS_DIR = tmp_path / "var" / "results"
    children = Children()
    children.start("worker", "-c", "raise SystemExit('no queue to serve')")
    children.running["worker"].wait()
    with pytest.raises(Died, match="(?s)worker ended with status 1.*no queue to serve"):
        children.check()


def test_a_child_that_does_not_end_is_killed(settings, tmp_path, monkeypatch):
    settings.RESULTS_DIR = tmp_path / "var" / "results"
    monkeypatch.setattr("apps.demo.services.children.PATIENCE", 0.1)
    children = Children()
    children.start(
        "worker", "-c", "import signal; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"
    )
    while "deaf" not in children.log("worker").read_text():
        children.check()
    child = children.running["worker"]
    children.stop()
    assert child.returncode == -signal.SIGKILL
