"""Jobs that are submitted into a workflow that is there already."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from apps.errors import Fault, IllegalMove, NotFound
from apps.jobs.engine.aim import aim
from apps.jobs.engine.enqueue import Enqueued, NewJob
from apps.jobs.engine.join_workflows import Joined, join_workflows
from apps.jobs.engine.pause import pause
from apps.jobs.models import Workflow
from apps.jobs.selectors import find
from apps.jobs.services.check import refuse
from apps.jobs.states import JobState, Placement


def join(jobs: Sequence[NewJob], *, project_id: UUID, pointer: str) -> Mapping[UUID, Joined]:
    """Hold the workflows that these jobs name until the transaction ends; answers them as they are.

    Raises BadInput at `pointer`/workflow of the n-th job for one that is not of the project, IllegalMove there for
    one that was cancelled.
    """
    found = join_workflows({job.workflow_id for job in jobs if job.workflow_id})
    ours = {key: one for key, one in found.items() if one.project_id == project_id}
    faults = [
        Fault(f"{pointer.format(place)}/workflow", "There is no such workflow in this project.")
        for place, job in enumerate(jobs)
        if job.workflow_id and job.workflow_id not in ours
    ]
    refuse(faults)
    late = [
        Fault(f"{pointer.format(place)}/workflow", f"Workflow {job.workflow_id} was cancelled.")
        for place, job in enumerate(jobs)
        if job.workflow_id and found[job.workflow_id].is_cancelled
    ]
    if late:
        raise IllegalMove(late[0].detail, errors=late)
    return found


def held_back(jobs: Sequence[NewJob], placed: Sequence[Enqueued], joined: Mapping[UUID, Joined]) -> list[Enqueued]:
    """Pause those of the jobs just made whose workflow is paused; answers where all of them wait."""
    paused = {one.id for one in joined.values() if one.is_paused}
    ids = [one.job_id for job, one in zip(jobs, placed, strict=True) if one.is_new and job.workflow_id in paused]
    held = {one.job_id for one in pause(ids=ids)}
    return [one._replace(state=JobState.PAUSED) if one.job_id in held else one for one in placed]


def aim_at(jobs: Sequence[NewJob], placed: Sequence[Enqueued], joined: Mapping[UUID, Joined]) -> None:
    """Let those of the jobs just made that go where their workflow goes, or is reserved, wait for whom that waits for."""
    reserved = {one.id for one in joined.values() if one.is_reserved}
    ids = [
        one.job_id
        for job, one in zip(jobs, placed, strict=True)
        if one.is_new and (job.placement == Placement.DISPATCH or job.workflow_id in reserved)
    ]
    if ids:
        aim(ids=ids)


def hold_workflow(workflow_id: UUID) -> Workflow:
    """A workflow with its project, before any of its jobs is held: whoever binds or joins it waits until we are done.

    Raises NotFound.
    """
    rows = Workflow.objects.select_for_update(no_key=True, of=("self",)).select_related("project")
    workflow = rows.filter(pk=workflow_id).first()
    if workflow is None:
        raise NotFound
    return workflow


def hold_workflow_of(job_id: UUID) -> Joined | None:
    """The workflow of a job that is about to go on, held as above; None where it has none. Raises NotFound."""
    workflow_id = find(job_id).workflow_id
    return join_workflows({workflow_id}).get(workflow_id) if workflow_id else None
