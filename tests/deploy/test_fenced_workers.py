"""ctx.fenced() in real workers: from threads and coroutines, and in one that was declared dead meanwhile."""

import os
import signal

import pytest
from django.db.models.functions import Now

from apps.jobs import services
from apps.jobs.selectors import find
from apps.jobs.states import JobState
from apps.workers.models import Session, Worker
from tests.deploy.test_side_by_side import FLAGS, NEW
from tests.jobs.looks import come_round, reap_all
from tests.processes import final, until, worker

pytestmark = pytest.mark.chaos


def written() -> list[str]:
    return list(Worker.objects.filter(uid__startswith="written").order_by("uid").values_list("uid", flat=True))


def test_a_worker_that_was_declared_dead_writes_nothing_and_its_successor_does(own_database, tmp_path, queue):
    gate, began, refused = (tmp_path / name for name in ("gate", "began", "refused"))
    asked = {"gate": str(gate), "began": str(began), "refused": str(refused)}
    with worker(own_database, tmp_path, *FLAGS, "--lease", "1.5", "--no-scheduler", name="w1", **NEW) as process:
        aside = services.submit(queue=queue, type="fenced.coroutine").id
        assert "async context" in final(aside)[0].result
        job = services.submit(queue=queue, type="fenced.write", payload=asked).id
        until(began.exists)
        os.kill(process.popen.pid, signal.SIGSTOP)
        until(lambda: Session.objects.filter(lease_expires_at__lt=Now()).exists())
        assert [one.outcome for one in reap_all()] == ["lost"]
        gate.touch()
        os.kill(process.popen.pid, signal.SIGCONT)
        until(refused.exists)
        assert written() == ["written from a coroutine"]
        come_round(job)
        until(lambda: find(job).state == JobState.COMPLETED, what=lambda: process.output)
        assert written() == ["written by 2", "written from a coroutine"]
