"""Where a workflow that is being submitted goes."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from apps.audit.record import Actor
from apps.jobs.engine.aim import aim
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.models import Workflow
from apps.jobs.selectors.targets import targetable
from apps.jobs.services.reserve import reserve
from apps.jobs.states import Placement
from apps.queues.models import Queue

TOGETHER = ("affinity", "required_worker", "dedicated")  # any of these keeps jobs together that do not say otherwise


def follow(jobs: Iterable[NewJob], asked: Mapping[str, Any]) -> None:
    """Let jobs that name no placement go where their workflow goes, if it goes anywhere."""
    if not any(asked.get(name) for name in TOGETHER):
        return
    for job in jobs:
        if job.placement is None and not job.anywhere:
            job.placement = Placement.DISPATCH.value


def bind(workflow: Workflow, asked: Mapping[str, Any], queues: Collection[Queue], actor: Actor) -> None:
    """Reserve a worker for it, or let it wait for the one that it requires."""
    worker = asked.get("required_worker")
    if asked.get("dedicated"):
        reserve(workflow_id=workflow.pk, actor=actor, worker=worker, pointer="#/required_worker")
    elif worker is not None:
        organization_id = workflow.project.organization_id
        pointer = "#/required_worker"
        chosen = targetable(uid=worker, organization_id=organization_id, queues=queues, pointer=pointer)
        Workflow.objects.filter(pk=workflow.pk).update(required_worker=chosen.pk)
        aim(workflow_id=workflow.pk)
