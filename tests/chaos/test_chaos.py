"""The whole harness: a site under faults keeps its word, and what the run made is gone with it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from django.conf import settings

pytestmark = pytest.mark.chaos

SEED = 20
SHORT = os.environ.get("SHORT") == "1"
SECONDS = "24" if SHORT else "55"
COUNTS = {
    "submitted",
    "completed",
    "lost_submissions",
    "double_successes",
    "invariant_violations",
    "fenced",
    "lost",
    "crashed",
}
PROCESSES = "kill-worker,kill-executor,freeze-worker,term-twice,same-name"  # no fault excuses a loss that is a lie
QUICK = "kill-worker,kill-web,terminate-backends,restart-immediate,reply-lost,term-twice,cut,freeze-worker"


@pytest.fixture
def place() -> Iterator[Path]:
    """Where the run makes its folders: as root, PostgreSQL's own account must be able to reach it."""
    path = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def start(place: Path, *flags: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "chaos", "--json", *flags],
        cwd=settings.BASE_DIR,
        env=os.environ | {"TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("faults", [QUICK] if SHORT else ["", PROCESSES])
def test_a_site_under_faults_keeps_its_word(place, faults):
    flags = ("--faults", faults) if faults else ()
    process = start(place, "--seed", str(SEED), "--seconds", SECONDS, *flags)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err + out
    told = json.loads(out)
    assert told.keys() >= COUNTS | {"seed", "faults", "bites", "truth", "seconds", "load"}
    assert (told["lost_submissions"], told["double_successes"], told["invariant_violations"]) == (0, 0, 0)
    assert told["seed"] == SEED
    assert told["completed"] > 50
    assert told["lost"] > 0
    assert sum(map(bool, told["bites"].values())) >= len(told["bites"]) // 2
    assert not any(told["truth"].values())
    assert list(place.iterdir()) == []


@pytest.mark.skipif(SHORT, reason="the verdict has a test of its own")
def test_a_run_in_which_nothing_bites_fails(place):
    """Workers without executors have none that could be killed."""
    process = start(place, "--faults", "kill-executor", "--processes", "0", "--seconds", "2")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    told = json.loads(out)
    assert told["wrong"] == ["no fault bit"]


@pytest.mark.parametrize("ending", [signal.SIGTERM] if SHORT else [signal.SIGINT, signal.SIGTERM])
def test_what_it_started_ends_with_it_when_it_is_interrupted(place, ending):
    process = start(place, "--faults", "stop-server", "--seconds", "600")
    assert process.stderr
    children: list[psutil.Process] = []
    for line in process.stderr:
        if "stop-server" in line:
            break
    else:
        raise AssertionError("It ended by itself.")
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) > 6
    process.send_signal(ending)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    until = time.monotonic() + 10
    while any(child.is_running() for child in children):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert list(place.iterdir()) == []
