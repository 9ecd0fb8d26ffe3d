"""Workflows in tests: made by the service, worked off one claim at a time, and looked at."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from apps.jobs import services
from apps.jobs.models import Job, Step, Workflow
from apps.jobs.selectors.workflows import standings
from apps.queues.models import Queue
from apps.workers.models import Session
from tests import acts

DIAMOND = {
    "script": [],
    "voice": ["script"],
    "images": ["script"],
    "video": ["images"],
    "compositing": ["voice", "video"],
}


def jobs_of(queue: Queue, parents: dict[str, list[Any]] = DIAMOND, **fields: Any) -> list[dict[str, Any]]:
    """Jobs of type ping by the names of their parents; `fields` are each one's, or by name."""
    return [
        {"name": name, "queue": queue.name, "type": "ping", "depends_on": waits, **fields}
        for name, waits in parents.items()
    ]


def begin(queue: Queue, parents: dict[str, list[Any]] = DIAMOND, **fields: Any) -> Workflow:
    """A workflow of pings."""
    return services.submit_workflow(project=queue.project, jobs=jobs_of(queue, parents), **fields).workflow


def step(workflow: Workflow, name: str) -> UUID:
    """The job that has this name."""
    return Step.objects.get(workflow_id=workflow.pk, name=name).job_id


def names(workflow: Workflow) -> dict[UUID, str]:
    return dict(Step.objects.filter(workflow_id=workflow.pk).values_list("job_id", "name"))


def states(workflow: Workflow) -> dict[str, str]:
    """Where each step stands."""
    rows = dict(Job.objects.filter(workflow_id=workflow.pk).values_list("id", "state"))
    return {name: rows[job_id] for job_id, name in names(workflow).items()}


def standing(workflow: Workflow) -> str:
    """Where the whole stands now."""
    return standings([again(workflow)])[workflow.pk].state


def again(workflow: Workflow) -> Any:
    return Workflow.objects.get(pk=workflow.pk)


def work(session: Session, queue: Queue, *, fail: Sequence[str] = (), only: int = 100) -> list[str]:
    """Take and end job after job; those named fail for good. Answers the names in the order in which they were taken."""
    done = []
    for _ in range(only):
        taken = acts.take(session, queue, limit=1)
        if not taken:
            break
        name = Step.objects.filter(job_id=taken[0].job_id).values_list("name", flat=True).first() or "?"
        acts.finish(session, *taken, outcome="permanent_error" if name in fail else "success", error_class="Broken")
        done.append(name)
    return done
