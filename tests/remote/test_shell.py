"""What docs/remote-workers.md tells to type, typed; and the worker in shell, as a process."""

import os
import re
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from apps.jobs import services
from apps.jobs.models import Attempt, JobLog, Progress
from apps.workers.models import Session
from tests import acts
from tests.processes import final, until
from tests.remote.serving import serving

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not (shutil.which("jq") and shutil.which("curl")), reason="needs curl and jq"),
]


@pytest.fixture
def env(own_database, tmp_path, token):
    with serving(own_database, tmp_path) as server:
        yield {**os.environ, "FENCEPOST_URL": server.url.removesuffix("/api/v1"), "FENCEPOST_TOKEN": token.text}


@contextmanager
def at_work(env, tmp_path, command):
    """A worker in shell; told to end, it says goodbye. Yields where it writes what it has to say."""
    log = tmp_path / "shell.log"
    with log.open("wb") as output:
        shell = subprocess.Popen(
            [str(DOCS / "clients" / "worker.sh"), "sh-1", "ping", "bash", "-c", command],
            env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
    try:
        yield log
        shell.send_signal(signal.SIGTERM)
        assert shell.wait(30) == 0, log.read_text()
    finally:
        shell.kill()
        shell.wait()


def test_each_command_of_the_page_does_what_it_says(env, queue):
    job = services.submit(queue=queue, type="ping", payload={"n": 1})
    blocks = re.findall(r"<!-- run -->\n```bash\n(.*?)```", (DOCS / "remote-workers.md").read_text(), re.S)
    assert len(blocks) == 5
    script = "set -euo pipefail\n" + "\n".join(blocks)
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + done.stdout
    assert '"ping"' in done.stdout
    assert done.stdout.endswith('{"fenced":[]}')
    [ended] = final(job.pk)
    assert (ended.state, ended.result) == ("completed", {"by": "sh"})
    assert JobLog.objects.get().message == "said by a shell"
    assert Progress.objects.get().stage == "half way"
    assert Session.objects.get().ended_at is not None


def test_the_worker_in_shell_goes_on_after_an_outage_and_without_its_session(env, queue, tmp_path):
    with at_work(env, tmp_path, "cat") as log:
        until(Session.objects.exists)
        for end in (lambda: acts.fall_silent(Session.objects.get()), Session.objects.all().delete):
            end()
            job = services.submit(queue=queue, type="ping")
            [done] = final(job.pk, within=20)
            assert done.state == "completed", log.read_text()


def test_the_worker_in_shell_works(env, queue, tmp_path):
    command = (
        "jq -c '.payload.n as $n | if $n == 0 then halt_error(75) elif $n < 0 then error else {twice: ($n * 2)} end'"
    )
    with at_work(env, tmp_path, command):
        later = services.submit(queue=queue, type="ping", payload={"n": 0})
        fine, bad = (services.submit(queue=queue, type="ping", payload={"n": n}) for n in (21, -1))
        done, failed = final(fine.pk, bad.pk, within=40)
        assert (done.result, failed.state) == ({"twice": 42}, "dead_letter")
        until(lambda: Attempt.objects.filter(job_id=later.pk, outcome="retryable_error").exists())
    assert Session.objects.get().ended_at is not None
