"""How soon a job runs again after its worker, or the executor in it, was killed with -9."""

import os
import signal
import time
from typing import Any

from apps.audit.record import Actor
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import Line, Records, records
from apps.bench.services.workers import Worker, wait, wait_ready, workers
from apps.jobs import services
from apps.queues.models import Curve
from apps.queues.services import policies, queues

ACTOR = Actor(name="manage.py bench")
LEASE = 2.0
AGAIN_WITHIN = 30.0  # seconds
TYPE = "bench.hold"


def recovery(*, processes: int, rounds: int, **_: object) -> dict[str, Any]:
    """Seconds from the kill to the first line of the job's next attempt; its retry policy adds no delay."""
    load, taken, executors = os.getloadavg(), Rounds(), processes or 2
    with ground() as here, records() as lines:
        _retry_at_once(here)
        for _round in range(rounds):
            worker, executor = _of_worker(here, lines), _of_executor(here, lines, executors)
            taken.add(lease_seconds=LEASE, worker_seconds=worker, executor_seconds=executor)
        return told(here, taken, unit="s", load=load, processes=executors)


def _of_worker(here: Ground, lines: Records) -> float:
    """Two workers: one runs the job and is killed, the other is there already."""
    with workers(2, "--processes", "0", *_flags()) as running:
        first = _start(here, lines, running)
        [victim] = [worker for worker in running if worker.process.pid == first.pid]
        killed = time.time()
        victim.process.kill()
        left = [worker for worker in running if worker is not victim]
        return _again(lines, left) - killed


def _of_executor(here: Ground, lines: Records, executors: int) -> float:
    with workers(1, "--processes", str(executors), *_flags()) as running:
        first = _start(here, lines, running)
        killed = time.time()
        os.kill(first.pid, signal.SIGKILL)
        return _again(lines, running) - killed


def _flags() -> tuple[str, ...]:
    return ("--lease", str(LEASE), "--poll-interval", "1", "--concurrency", "4", "--grace", "0")


def _start(here: Ground, lines: Records, running: list[Worker]) -> Line:
    """Submit a job that lasts, and wait until it runs."""
    lines.forget()
    wait_ready(running)
    services.submit(queue=here.queue, type=TYPE, payload={"t": time.time()})
    wait(running, lambda: lines.count() == 1, what="The job does not start")
    return lines.read()[0]


def _again(lines: Records, running: list[Worker]) -> float:
    """When its next attempt started; that one ends at once."""
    wait(running, lambda: lines.count() == 2, within=AGAIN_WITHIN, what="The job does not start again")
    return lines.read()[1].started


def _retry_at_once(here: Ground) -> None:
    policy = policies.create_policy(
        project=here.queue.project, actor=ACTOR, name="at once", kind=Curve.FIXED, base_delay_ms=0, jitter=False
    )
    queues.update(queue=here.queue, actor=ACTOR, retry_policy=policy)
