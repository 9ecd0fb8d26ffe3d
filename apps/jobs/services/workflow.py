"""Submit a workflow: jobs that wait for each other, in one call, under local names."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DataError, transaction
from django.db.models import Q
from uuid_utils.compat import uuid7

from apps.accounts.models import Project
from apps.audit.record import SYSTEM, Actor
from apps.errors import BadInput, Fault, KeyTaken, NotFound
from apps.jobs.engine.enqueue import Enqueued, NewJob, enqueue
from apps.jobs.engine.name_steps import name_steps
from apps.jobs.models import Workflow
from apps.jobs.services.bind import bind, follow
from apps.jobs.services.check import WORKFLOW_RULES, look, refuse
from apps.jobs.services.dag import Node, in_order, read
from apps.jobs.services.full import refuse_when_full
from apps.jobs.services.submit import announce, new_job
from apps.queues.engine.tell import tell
from apps.queues.models import Queue
from apps.queues.selectors import with_depth


@dataclass(frozen=True, slots=True)
class Planned:
    """One job of a workflow that was just submitted."""

    name: str
    queue_id: UUID
    type: str
    placed: Enqueued


@dataclass(frozen=True, slots=True)
class Begun:
    """A workflow and its jobs, in the order they were given."""

    workflow: Workflow
    jobs: list[Planned]


@transaction.atomic
def submit_workflow(
    *,
    project: Project | str,
    jobs: Sequence[Mapping[str, Any]],
    submitted_by: UUID | None = None,
    actor: Actor = SYSTEM,
    **fields: Any,
) -> Begun:
    """Submit up to BATCH_MAX jobs as one workflow, all or none, inside the caller's transaction.

    `project` is a Project or "org/project". Fields: name, priority (of jobs that have none), labels; affinity, required_worker,
    dedicated (see bind; `actor` reserves). Each job has a name, a queue (its name or id) and what `submit` knows; `depends_on`
    may name others of the call. Errors point at "#/jobs/<n>/<field>". Raises KeyTaken for a unique key, and QueueFull.
    """
    home = _project(project)
    asked, faults = look(fields, WORKFLOW_RULES)
    refuse(faults)
    if not 1 <= len(jobs) <= settings.BATCH_MAX:
        raise BadInput.at("#/jobs", f"Give between 1 and {settings.BATCH_MAX} jobs; this has {len(jobs)}.")
    nodes = read(jobs)
    ordered = in_order(nodes)
    queues = _queues(home, nodes)
    made = _new_jobs(ordered, queues, asked)
    workflow = _kept(home, fields, asked, submitted_by)
    placed = _placed(workflow, ordered, made, submitted_by)
    bind(workflow, asked, set(queues.values()), actor)
    tell(project_id=home.pk, kind="workflow.submitted", workflow=workflow.pk, name=workflow.name, jobs=len(made))
    announce(list(made.values()), list(placed.values()))
    return Begun(workflow, [_planned(node, made[node.place], placed[node.place]) for node in nodes])


def _planned(node: Node, job: NewJob, placed: Enqueued) -> Planned:
    return Planned(node.name, job.queue_id, job.type, placed)


def _new_jobs(ordered: Sequence[Node], queues: Mapping[str, Queue], asked: Mapping[str, Any]) -> dict[int, NewJob]:
    """Checked jobs by place. Ids grow from parents to children, so that whoever holds jobs by id holds parents first."""
    ids = sorted((uuid7() for _ in ordered), key=lambda one: one.int)
    turns = {node.place: turn for turn, node in enumerate(ordered)}
    policies: dict[UUID, dict[str, UUID]] = {}
    made = {}
    for node, job_id in zip(ordered, ids, strict=True):
        queue, pointer = queues[str(node.queue)], f"#/jobs/{node.place}"
        if "workflow" in node.fields:
            raise BadInput.at(f"{pointer}/workflow", "It joins the workflow of this call.")
        fields = {"priority": asked.get("priority"), "depends_on": list(node.outside.values()), **node.fields}
        job = new_job(queue, fields, pointer=pointer, policies=policies.setdefault(queue.pk, {}), joins=True)
        job.id, job.waits_for = job_id, [turns[parent] for parent in node.parents]
        if (count := len(job.waits_for) + len(set(job.depends_on))) > settings.DEPENDENCIES_MAX:
            detail = f"At most {settings.DEPENDENCIES_MAX} parents; this has {count}."
            raise BadInput.at(f"{pointer}/depends_on", detail)
        made[node.place] = job
    follow(made.values(), asked)
    return made


def _kept(project: Project, fields: Mapping[str, Any], asked: Mapping[str, Any], by: UUID | None) -> Workflow:
    return Workflow.objects.create(
        project=project,
        name=asked.get("name", ""),
        priority=asked.get("priority", 0),
        labels=fields.get("labels"),
        submitted_by=by,
    )


def _placed(
    workflow: Workflow, ordered: Sequence[Node], made: Mapping[int, NewJob], by: UUID | None
) -> dict[int, Enqueued]:
    """Write the jobs and what they are called."""
    jobs = list(made.values())
    for job in jobs:
        job.workflow_id = workflow.pk
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    try:
        placed = enqueue(jobs, submitted_by=by, request_id=request_id)
    except BadInput as error:
        raise _as_given(error, ordered) from None
    for one in placed:
        if not one.is_new:
            raise KeyTaken(f"Job {one.job_id} holds a unique key of this workflow.", job_id=str(one.job_id))
    name_steps(workflow_id=workflow.pk, names=[node.name for node in ordered], ids=[job.id for job in jobs])
    return dict(zip(made, placed, strict=True))


def _as_given(error: BadInput, ordered: Sequence[Node]) -> BadInput:
    """The engine points at parents in the order it was given them; turn that into the caller's."""
    faults = []
    for fault in error.errors:
        _, kind, place, field, number = fault.pointer.split("/")
        node = ordered[int(place)]
        faults.append(Fault(f"#/{kind}/{node.place}/{field}/{list(node.outside)[int(number)]}", fault.detail))
    return BadInput(f"{faults[0].pointer}: {faults[0].detail}", errors=faults)


def _queues(project: Project, nodes: Sequence[Node]) -> dict[str, Queue]:
    """The queues that jobs name, by name and by id; each has room for them."""
    named = {str(node.queue) for node in nodes}
    ids = [UUID(one) for one in named if _is_id(one)]
    rows = with_depth(Queue.objects.filter(Q(name__in=named) | Q(pk__in=ids), project=project))
    by_id = {str(queue.pk): queue for queue in rows}
    found = by_id | {queue.name: queue for queue in by_id.values()}
    refuse(
        [
            Fault(f"#/jobs/{node.place}/queue", "There is no such queue in this project.")
            for node in nodes
            if str(node.queue) not in found
        ]
    )
    for queue, jobs in Counter(found[str(node.queue)].pk for node in nodes).items():
        refuse_when_full(by_id[str(queue)], jobs=jobs)
    return found


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _project(project: Project | str) -> Project:
    if isinstance(project, Project):
        return project
    try:
        organization, slug = project.split("/")
        return Project.objects.get(organization__slug=organization, slug=slug)
    except (ValueError, DataError, Project.DoesNotExist):
        raise NotFound(f"There is no project {project!r}; name it organization/project.") from None
