"""How long a large workflow takes: to submit, and to run to its end."""

import os
import time
from typing import Any

from django.conf import settings

from apps.bench.services.drain import finished
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import TYPE
from apps.bench.services.workers import Stuck, wait, wait_ready, workers
from apps.jobs import services
from apps.jobs.models import Workflow
from apps.jobs.selectors.workflows import standings
from apps.jobs.states import WorkflowState
from apps.sql import run_alone

JOBS, LAYER, CONCURRENCY = 10_000, 50, 200
WITHIN = 900.0  # seconds


def flow(*, jobs: int | None, concurrency: int | None, processes: int, rounds: int, **_more: object) -> dict[str, Any]:
    """Seconds for a chain, and for layers in which each job waits for all of the layer before."""
    jobs, concurrency, load = jobs or JOBS, concurrency or CONCURRENCY, os.getloadavg()
    settings.BATCH_MAX = max(settings.BATCH_MAX, jobs)
    taken = Rounds()
    flags = ("--concurrency", str(concurrency), "--processes", str(processes), "--no-scheduler")
    with ground() as here:
        for _ in range(rounds):
            for name, width in (("chain", 1), ("layers", LAYER)):
                submitted, ran = _round(here, jobs, width, flags)
                taken.add(**{f"{name}_submit_seconds": submitted, f"{name}_run_seconds": ran})
        edges = max(jobs - LAYER, 0) * LAYER
        how = {"jobs": jobs, "concurrency": concurrency, "processes": processes, "layers_edges": edges}
        return told(here, taken, unit="s", load=load, **how)


def shape(jobs: int, width: int) -> list[dict[str, Any]]:
    """Layers of so many jobs, each of which waits for every job of the layer before."""
    return [
        {
            "name": f"j{number}",
            "queue": "bench",
            "type": TYPE,
            "depends_on": [f"j{n}" for n in range((number // width - 1) * width, number // width * width)]
            if number >= width
            else [],
        }
        for number in range(jobs)
    ]


def _round(here: Ground, jobs: int, width: int, flags: tuple[str, ...]) -> tuple[float, float]:
    asked = shape(jobs, width)
    began = time.perf_counter()
    made = services.submit_workflow(project=here.queue.project, jobs=asked).workflow
    submitted = time.perf_counter() - began
    run_alone("VACUUM (ANALYZE)", lock_timeout="0")
    return submitted, _run(made, flags)


def _run(made: Workflow, flags: tuple[str, ...]) -> float:
    with workers(1, *flags) as running:
        wait_ready(running)
        began = time.perf_counter()
        wait(running, finished, within=WITHIN, what="The workflow is not finished")
        took = time.perf_counter() - began
    state = standings([made])[made.pk].state
    if state != WorkflowState.COMPLETED:
        raise Stuck(f"The workflow is {state}.")
    return took
