"""Reads of workflows: where they stand, their steps, and how these hang together."""

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.accounts.models import Project, Role
from apps.accounts.selectors import Caller, reachable
from apps.jobs.engine.count import Counted, count_workflows
from apps.jobs.engine.list_steps import ListedStep, list_steps
from apps.jobs.models import Dependency, Job, Workflow
from apps.jobs.selectors.shelves import DEAD_LETTERS
from apps.jobs.states import FINAL, LIVE, JobState, WorkflowState
from apps.queues.models import Queue

SKEW = timedelta(days=1)  # between the clock that made a row and the day of a partition
STEPS_MAX = 1000  # shown of one workflow
GOES_ON = {JobState.RUNNING, JobState.QUEUED, JobState.SCHEDULED, JobState.RETRY_WAIT}  # without anybody's help


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a workflow stands: its state, and its jobs by theirs."""

    state: WorkflowState
    counts: Mapping[str, int]
    jobs: int
    percent: float  # of its jobs that have ended


@dataclass(frozen=True, slots=True)
class Plan:
    """How steps hang together: for each its layer and its place in that, and who waits for whom."""

    places: dict[UUID, tuple[int, int]]
    edges: list[tuple[UUID, UUID]]  # parent, child


def reachable_workflows(caller: Caller) -> QuerySet[Workflow]:
    """The workflows a caller may see, each with its project."""
    rows = Workflow.objects.select_related("project")
    return reachable(rows, caller, project="project", organization="project__organization")


def live_ids(workflow: Workflow) -> list[UUID]:
    """Its jobs that have not ended, in id order."""
    rows = Job.objects.filter(shelved_on=None, workflow_id=workflow.pk)
    return list(rows.order_by("id").values_list("id", flat=True))


def dead_ids(workflow: Workflow) -> list[UUID]:
    """Its dead letters, in id order."""
    rows = Job.objects.filter(shelved_on=DEAD_LETTERS, workflow_id=workflow.pk)
    return list(rows.order_by("id").values_list("id", flat=True))


def standings(workflows: Sequence[Workflow]) -> dict[UUID, Standing]:
    """Where each of some workflows stands, in one statement."""
    if not workflows:
        return {}
    since = since_of(min(one.created_at for one in workflows))
    counted: dict[UUID, list[Counted]] = defaultdict(list)
    for row in count_workflows(ids=[one.pk for one in workflows], since=since):
        counted[row.group_id].append(row)
    return {one.pk: _standing(one, counted[one.pk]) for one in workflows}


def since_of(created_at: datetime) -> date:
    """A day before which nothing can have ended of what was made then."""
    return (created_at - SKEW).date()


def _standing(workflow: Workflow, counted: Sequence[Counted]) -> Standing:
    counts = {row.state: row.jobs for row in counted}
    jobs = sum(counts.values())
    ended = sum(counts.get(state, 0) for state in FINAL)
    ran = any(row.ran for row in counted)
    return Standing(_state(workflow, counts, ran=ran), counts, jobs, round(100 * ended / jobs, 1) if jobs else 100.0)


def _state(workflow: Workflow, counts: Mapping[str, int], *, ran: bool) -> WorkflowState:
    live = {state for state in LIVE if counts.get(state)}
    if not live:
        return _ended(workflow, counts)
    if workflow.cancelled_at:
        return WorkflowState.CANCELLING
    if workflow.paused_at:
        return WorkflowState.PAUSED
    if JobState.AWAITING_APPROVAL in live and not live & GOES_ON:
        return WorkflowState.AWAITING_APPROVAL
    return WorkflowState.RUNNING if ran or any(counts.get(state) for state in FINAL) else WorkflowState.PENDING


def _ended(workflow: Workflow, counts: Mapping[str, int]) -> WorkflowState:
    if workflow.cancelled_at:
        return WorkflowState.CANCELLED
    well = not counts.get(JobState.DEAD_LETTER) and not counts.get(JobState.CANCELLED)
    return WorkflowState.COMPLETED if well else WorkflowState.FAILED


def steps(workflow: Workflow) -> tuple[list[ListedStep], bool]:
    """The first STEPS_MAX of its jobs; and whether there are more."""
    found = list_steps(workflow_id=workflow.pk, since=since_of(workflow.created_at), limit=STEPS_MAX + 1)
    return found[:STEPS_MAX], len(found) > STEPS_MAX


def seen_queues(project: Project, shown: Sequence[ListedStep], role: Role) -> set[UUID]:
    """The queues of these steps whose payloads and results a role may see."""
    rows = Queue.objects.filter(pk__in={step.queue_id for step in shown}).only("id", "hide_payloads_below")
    least = project.hide_payloads_below
    return {one.pk for one in rows if role.level >= Role(one.hide_payloads_below or least).level}


def results(shown: Sequence[ListedStep], *, visible: Collection[UUID]) -> dict[UUID, Any]:
    """What steps answered, or have come to so far; of those queues alone whose payloads are visible."""
    wanted = [step for step in shown if step.queue_id in visible]
    if not wanted:
        return {}
    since = since_of(min(step.created_at for step in wanted))
    shelves = Q(shelved_on=None) | Q(shelved_on=DEAD_LETTERS) | Q(shelved_on__gte=since)
    rows = Job.objects.filter(shelves, id__in=[step.id for step in wanted], result__isnull=False)
    return dict(rows.order_by().values_list("id", "result"))


def plan(shown: Sequence[ListedStep]) -> Plan:
    """Lay steps out: each in the layer behind the last of its parents, level with where they stand."""
    ids = [step.id for step in shown]
    known = set(ids)
    rows = Dependency.objects.filter(child_id__in=ids).values_list("parent_id", "child_id")
    edges = sorted((parent, child) for parent, child in rows if parent in known)
    parents: dict[UUID, list[UUID]] = defaultdict(list)
    for parent, child in edges:
        parents[child].append(parent)
    layers = _layers(ids, edges)
    places: dict[UUID, tuple[int, int]] = {}
    for number, layer in enumerate(layers):
        level = {one: _level([places[parent][1] for parent in parents[one]]) for one in layer}
        free = 0  # from here on
        for one in sorted(layer, key=lambda one: (level[one], one)):
            column = max(free, round(level[one]))
            places[one], free = (number, column), column + 1
    return Plan(places, edges)


def _level(columns: Sequence[int]) -> float:
    return sum(columns) / len(columns) if columns else 0.0


def _layers(ids: Sequence[UUID], edges: Sequence[tuple[UUID, UUID]]) -> list[list[UUID]]:
    """Longest way from a root. What waits in a circle, which only a hand in the database can make, stands last."""
    children: dict[UUID, list[UUID]] = defaultdict(list)
    waits = dict.fromkeys(ids, 0)
    for parent, child in edges:
        children[parent].append(child)
        waits[child] += 1
    depth = dict.fromkeys(ids, 0)
    ready = deque(one for one in ids if not waits[one])
    while ready:
        one = ready.popleft()
        for child in children[one]:
            depth[child] = max(depth[child], depth[one] + 1)
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    last = 1 + max(depth.values(), default=-1)
    layers: list[list[UUID]] = [[] for _ in range(last + 1)]
    for one in ids:
        layers[last if waits[one] else depth[one]].append(one)
    return [layer for layer in layers if layer]
