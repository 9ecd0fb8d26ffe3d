"""A cap of one under faults: handlers write their starts and ends on another server, which nobody takes away.

A run counts until its handler ends or the ledger closes its fence, whichever is first. Where the server crashed, it may
have forgotten a claim of the last moments, of which the ledger never hears; that run counts until the crash.
"""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from django.core.management import call_command

from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import find
from apps.jobs.states import JobState
from apps.queues.models import Gate
from apps.queues.services import queues
from tests.processes import until
from tests.trouble import servers
from tests.trouble.conftest import SHORT, Hand, Site, start

pytestmark = pytest.mark.chaos

JOBS, WORKERS, ROUNDS = (150, 3, 1) if SHORT else (10_000, 8, 10)
SCHEDULERS = 2  # of the workers: all of them would need more connections than the server has
LONG_SECONDS = 2.0  # of a job that is to be running when the fault comes
CALM = (0.5, 1.5) if SHORT else (4.0, 12.0)  # seconds between two faults
BUDGET = {"max_attempts": 100, "max_losses": 100}  # no job is to end by bad luck
SEED = 4
WITNESS = """
    CREATE TABLE witness (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job uuid, fence bigint, pid int,
        started_at timestamptz DEFAULT clock_timestamp(), ended_at timestamptz
    )
"""
RUNNING = "SELECT pid FROM witness WHERE job = %s AND ended_at IS NULL"


@dataclass
class Run:
    job: UUID
    fence: int
    began: float
    ended: float  # infinite if its process was killed
    closed: bool  # the ledger knows how it ended


@dataclass
class Stage:
    site: Site
    folder: Path
    url: str
    hands: dict[int, Hand] = field(default_factory=dict)  # by number of the worker
    crashes: list[float] = field(default_factory=list)
    jobs: int = 0

    def open(self, number: int) -> None:
        flags: tuple[str, ...] = ("--processes", "0", "--concurrency", "2")
        if number >= SCHEDULERS:
            flags += ("--no-scheduler",)
        self.hands[number] = start(self.site, self.folder, *flags, name=f"capped{number}", WITNESS=self.url)

    def submit(self, jobs: int, *, seconds: float = 0, priority: int = 0) -> list[UUID]:
        job = {"type": "effect.witnessed", "payload": {"seconds": seconds}, "priority": priority, **BUDGET}
        made = services.submit_batch(queue=self.site.queue, jobs=[job] * jobs).jobs
        self.jobs += jobs
        return [one.job_id for one in made]

    def busy(self) -> tuple[Hand, int, UUID]:
        """The worker that runs a job which lasts, its number, and the job."""
        [job] = self.submit(1, seconds=LONG_SECONDS, priority=100)
        found: list[tuple[Hand, int]] = []
        with psycopg.connect(self.url, autocommit=True) as line:

            def look() -> bool:
                pids = {pid for (pid,) in line.execute(RUNNING, [job]).fetchall()}
                found[:] = [(hand, n) for n, hand in self.hands.items() if hand.process.popen.pid in pids]
                return bool(found)

            until(look, within=60, what=lambda: (find(job).state, list(Gate.objects.values())))
        return *found[0], job


@pytest.fixture(scope="module")
def witness() -> Iterator[str]:
    with servers.server() as server:
        url = f"postgres://{servers.ROLE}:{servers.PASSWORD}@127.0.0.1:{server.port}/postgres"
        with server.admin() as admin:
            admin.execute(WITNESS)
            admin.execute(f"GRANT ALL ON witness TO {servers.ROLE}")
        yield url


@pytest.fixture
def stage(site, witness, tmp_path) -> Iterator[Stage]:
    made = Stage(site, tmp_path, witness)
    try:
        for number in range(WORKERS):
            made.open(number)
        for hand in made.hands.values():
            hand.process.says("worker started", within=60)
        yield made
    finally:
        for hand in made.hands.values():
            hand.process.kill()


# --- faults: each hits a worker in the middle of a job ---


def kill(stage: Stage) -> None:
    hand, number, _ = stage.busy()
    hand.process.kill()
    stage.open(number)


def freeze(stage: Stage) -> None:
    """Past its lease: it wakes up when its job has been taken back."""
    hand, _, job = stage.busy()
    hand.process.send(signal.SIGSTOP)
    try:
        until(lambda: lost(job) > 0, within=60)
    finally:
        hand.process.send(signal.SIGCONT)


def lost(job: UUID) -> int:
    return Attempt.objects.filter(job_id=job, outcome="lost").count()


def restart(stage: Stage) -> None:
    stage.busy()
    stage.site.server.restart("fast")


def crash(stage: Stage) -> None:
    stage.busy()
    stage.crashes.append(time.time())
    stage.site.server.restart("immediate")


FAULTS: list[Callable[[Stage], None]] = [kill, freeze, restart, crash]


def pass_time(seconds: float) -> None:
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end, within=seconds + 20)


def strike(stage: Stage, dice: random.Random) -> None:
    """Every fault in a shuffled order, and again; then none, until all jobs have ended."""
    for _round in range(ROUNDS):
        for fault in dice.sample(FAULTS, len(FAULTS)):
            pass_time(dice.uniform(*CALM))
            fault(stage)
            stage.site.forget_connections()
    until(lambda: done(stage), within=60 if SHORT else 1800)


def done(stage: Stage) -> bool:
    return not Job.objects.filter(queue=stage.site.queue, shelved_on=None).exists()


# --- the judgement ---


def runs(stage: Stage) -> list[Run]:
    """As they count, in the order of their starts."""
    closed = {
        (job, fence): at.timestamp() for job, fence, at in Attempt.objects.values_list("job_id", "fence", "finished_at")
    }
    with psycopg.connect(stage.url, autocommit=True) as line:
        rows = line.execute(
            "SELECT job, fence, extract(EPOCH FROM started_at)::float8, extract(EPOCH FROM ended_at)::float8"
            " FROM witness ORDER BY started_at"
        ).fetchall()
    return [
        Run(job, fence, began, min(ended or END, closed.get((job, fence), END)), (job, fence) in closed)
        for job, fence, began, ended in rows
    ]


END = float("inf")


def overlaps(found: list[Run], crashes: list[float]) -> list[str]:
    wrong, last = [], found[0]
    for run in found[1:]:
        forgotten = any(last.began < at <= run.began for at in crashes) and not last.closed
        if run.began < last.ended and not forgotten:
            wrong.append(
                f"{run.job}/{run.fence} began {last.ended - run.began:.3f} s before the end of {last.job}/{last.fence}"
            )
        last = max(last, run, key=lambda one: one.ended) if not forgotten else run
    return wrong


def test_a_cap_of_one_is_never_passed_whoever_dies_freezes_or_goes_away(stage, record_property):
    queue = stage.site.queue
    queues.update(queue=queue, actor=SYSTEM, max_concurrency=1)
    for first in range(0, JOBS, 1000):
        stage.submit(min(1000, JOBS - first))
    strike(stage, random.Random(SEED))  # noqa: S311 - to be repeated
    found, outcomes = runs(stage), Counter(Attempt.objects.filter(queue_id=queue.pk).values_list("outcome", flat=True))
    record_property("figures", f"{len(found)} runs of {stage.jobs} jobs, {ROUNDS} of each fault, {dict(outcomes)}")
    assert Job.objects.filter(queue=queue, state=JobState.COMPLETED).count() == stage.jobs
    assert len({run.job for run in found}) == stage.jobs
    assert overlaps(found, stage.crashes) == []
    assert outcomes["lost"] >= 2 * ROUNDS, "killed and frozen"
    call_command("invariants")
