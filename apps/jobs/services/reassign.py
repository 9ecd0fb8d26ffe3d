"""Give what waits for one worker to another, on someone's behalf."""

from uuid import UUID

from django.db import transaction

from apps.audit.record import Actor, record
from apps.errors import Conflict, IllegalMove, NotFound
from apps.jobs.engine import reassign as jobs
from apps.jobs.engine import reassign_workflow as workflows
from apps.jobs.engine.wake import wake_queue
from apps.jobs.models import Job, Workflow
from apps.jobs.selectors import find
from apps.jobs.selectors.targets import reserved, targetable
from apps.jobs.services.join import hold_workflow, hold_workflow_of
from apps.jobs.services.recorded import recorded
from apps.jobs.states import Placement
from apps.queues.models import Queue

POINTER = "#/worker"


@transaction.atomic
def reassign(*, job_id: UUID, actor: Actor, worker: str | None) -> None:
    """Let a waiting job wait for the worker of this name; None: for any, or, if it keeps its worker, the first that comes.

    Raises IllegalMove naming the state of one that runs or has ended, Conflict where its workflow or
    that one's reservation decides, and BadInput or WorkerUnavailable as submitting it would.
    """
    job = find(job_id)
    flow = hold_workflow_of(job_id)  # before the job: what is asked of it must hold until the end
    if flow and reserved(flow.id):
        raise Conflict("Its workflow is reserved for a worker; end the reservation first.")
    chosen = worker and targetable(
        uid=worker, organization_id=job.queue.project.organization_id, queues=[job.queue], pointer=POINTER
    )
    done = jobs.reassign(job_id=job_id, worker_id=chosen.pk if chosen else None)
    if done is None and find(job_id).placement == Placement.DISPATCH:
        raise Conflict("This job goes where its workflow goes; reassign the workflow.")
    if done is None:
        raise IllegalMove(f"Only a job that waits can be reassigned; this one is {find(job_id).state}.")
    wake_queue(job.queue_id)
    recorded(job_id, actor, "job.reassign", before={"worker": done.before}, after={"worker": worker})


@transaction.atomic
def reassign_workflow(*, workflow: Workflow, actor: Actor, worker: str | None) -> Workflow:
    """Move a workflow, with all its jobs that go where it goes, to the worker of this name; None: to the first that comes.

    Raises Conflict naming the jobs while some of them still run elsewhere, or where it is reserved.
    """
    hold_workflow(workflow.pk)
    if reserved(workflow.pk):
        raise Conflict("This workflow is reserved for a worker; end the reservation first.")
    waiting = Job.objects.filter(shelved_on=None, workflow_id=workflow.pk, placement=Placement.DISPATCH)
    queues = Queue.objects.filter(pk__in=waiting.order_by().values("queue_id").distinct())
    chosen = worker and targetable(
        uid=worker, organization_id=workflow.project.organization_id, queues=queues, pointer=POINTER
    )
    before = _move(workflow, chosen.pk if chosen else None)
    record(
        actor=actor,
        organization_id=workflow.project.organization_id,
        action="workflow.reassign",
        target_type="workflow",
        target_id=workflow.pk,
        before={"worker": before},
        after={"worker": worker},
    )
    return Workflow.objects.get(pk=workflow.pk)


def _move(workflow: Workflow, worker_id: UUID | None) -> str | None:
    """Answers the name of the worker that it leaves."""
    done = workflows.reassign_workflow(workflow_id=workflow.pk, worker_id=worker_id)
    if done is None:
        raise NotFound
    if done.elsewhere:
        names = [str(one) for one in done.elsewhere]
        raise Conflict(f"Jobs of it still run elsewhere: {', '.join(names)}.", jobs=names)
    for queue_id in {job.queue_id for job in done.jobs}:
        wake_queue(queue_id)
    return done.before
