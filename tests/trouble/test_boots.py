"""One name, many boots: whoever comes later wins, and whoever was away too long cannot write (cases H15, H19)."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path
from uuid import UUID

import pytest

from apps.jobs.engine.reap import reap
from apps.jobs.models import Attempt
from apps.jobs.services import submit_batch
from apps.jobs.states import JobState
from apps.sql import open_async
from apps.workers.models import Session
from tests import acts, factories
from tests.processes import final, until
from tests.trouble.conftest import hand, long_only

pytestmark = pytest.mark.chaos

FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"


def test_the_same_name_host_and_process_id_after_a_kill_takes_over_at_once(site, tmp_path):
    """As a container does that is started anew: its first process is number 1 again. The lease is an hour."""
    contained = ("unshare", "--pid", "--fork", "--kill-child")
    if os.geteuid() != 0 or subprocess.run([*contained, "true"], check=False, capture_output=True).returncode:
        pytest.skip("NOT TESTED, the same process id twice: needs root and process namespaces")
    flags = ("--lease", "3600", "--heartbeat", "1")
    with hand(site, tmp_path, *flags, prefix=contained) as first:
        jobs = [site.runs(0, first=60) for _ in range(2)]
        first.process.kill()
    with hand(site, tmp_path, *flags, prefix=contained):
        ended = final(*jobs, within=15)
    assert [(job.state, job.attempt) for job in ended] == [(JobState.COMPLETED, 2)] * 2
    boots = Session.objects.filter(worker__uid="w1").order_by("-started_at")[:2]
    assert len({(boot.hostname, boot.pid) for boot in boots}) == 1
    assert set(Attempt.objects.filter(job_id__in=jobs).values_list("outcome", flat=True)) == {"lost", "success"}


def test_a_frozen_worker_wakes_up_fenced_and_its_late_report_is_counted(site, tmp_path):
    """Its heart is kept still for a moment longer, so that the report of what it lost comes first."""
    with hand(site, tmp_path, name="frozen") as frozen:
        ended, told = site.runs(0, first=1), site.runs(0, first=60, polite=True)
        frozen.process.send(signal.SIGSTOP)
        with hand(site, tmp_path, name="other"):
            assert {job.attempt for job in final(ended, told, within=30)} == {2}
            with site.server.frozen("%beats"):
                frozen.process.send(signal.SIGCONT)
                frozen.process.says("report fenced")
            frozen.process.says("session lapsed; starting a new one")
            until(lambda: "told" in site.noted(told), what=lambda: site.noted(told))
    assert Session.objects.filter(worker__uid="frozen").order_by("started_at")[0].fenced_writes == 1
    for job in (ended, told):
        outcomes = list(Attempt.objects.filter(job_id=job).order_by("fence").values_list("outcome", flat=True))
        assert outcomes == ["lost", "success"]


@pytest.mark.parametrize("shift", ["+3600", pytest.param("-3600", marks=long_only)])
def test_a_workers_clock_that_is_an_hour_off_changes_nothing(site, tmp_path, shift):
    """Only the database's clock decides. The library fakes the monotonic clock too: it must not be told not to."""
    library = next(iter(Path("/").glob(FAKETIME[1:])), None)
    if library is None:
        pytest.skip("NOT TESTED, clocks that are off: libfaketime is not installed")
    off = {"LD_PRELOAD": str(library), "FAKETIME": f"{shift}s"}
    with hand(site, tmp_path, name="off", **off) as one:
        assert one.ready()
        jobs = [site.runs(2.5), site.job("note", delay_seconds=1.0), site.job("boom", max_attempts=2)]
        done, later, failed = final(*jobs)
    assert (done.state, done.attempt) == (JobState.COMPLETED, 1)
    waited = Attempt.objects.get(job_id=later.id).started_at - later.created_at
    assert 1 <= waited.total_seconds() < 10
    assert (failed.state, failed.attempt) == (JobState.DEAD_LETTER, 2)
    assert Session.objects.get(worker__uid="off", ended_at=None, fenced_at=None).fenced_writes == 0


def lay_out(site) -> UUID:
    """Three sessions that have fallen silent, each with a hundred jobs."""
    queue = factories.QueueFactory.create(project=site.queue.project)
    submit_batch(queue=queue, jobs=[{"type": acts.PING}] * 300)
    for _ in range(3):
        silent = factories.SessionFactory.create(lease_seconds=0.5, concurrency=100)
        assert len(acts.take(silent, queue, limit=100)) == 100
        acts.fall_silent(silent)
    return queue.pk


async def test_six_reapers_at_once_take_each_job_back_once(site):
    queue_id = await asyncio.to_thread(lay_out, site)

    async def one_reaper(line) -> int:
        taken = 0
        while rows := await reap.on(line, limit=20):
            taken += len(rows)
        return taken

    lines = [await open_async() for _ in range(6)]
    try:
        taken = await asyncio.gather(*[one_reaper(line) for line in lines])
    finally:
        for line in lines:
            await line.close()
    assert sum(taken) == 300
    assert sum(count > 0 for count in taken) > 1
    assert await Attempt.objects.filter(outcome="lost", queue_id=queue_id).acount() == 300
