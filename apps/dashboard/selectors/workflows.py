"""Workflows and batches as pages show them: who may look, and a graph laid out to be drawn."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.accounts.models import Project, User
from apps.accounts.selectors.callers import caller_of_user
from apps.accounts.selectors.reach import role_of
from apps.dashboard.selectors.access import Seat
from apps.errors import NotFound
from apps.jobs.engine.list_steps import ListedStep
from apps.jobs.models import Batch, Workflow
from apps.jobs.selectors.batches import reachable_batches
from apps.jobs.selectors.workflows import Plan, plan, reachable_workflows

WIDE, HIGH = 168, 40  # of a step, in the units of the drawing
RIGHT, DOWN, EDGE = 216, 56, 16  # from step to step, and around all
DRAWN, TIES = 200, 1500  # steps and edges; more than that nobody could read


@dataclass(frozen=True, slots=True)
class Box:
    """One step of the drawing."""

    step: ListedStep
    x: int
    y: int
    middle: int


@dataclass(frozen=True, slots=True)
class Tie:
    """A curve from a parent to its child."""

    path: str
    waits: bool  # the parent has not ended


@dataclass(frozen=True, slots=True)
class Drawing:
    width: int
    height: int
    boxes: list[Box]
    ties: list[Tie]


def workflow_seat(user: User, workflow_id: UUID) -> tuple[Workflow, Seat]:
    """A workflow and the seat from which it is seen; raises NotFound for a stranger's as for none."""
    rows = reachable_workflows(caller_of_user(user)).select_related("project__organization")
    workflow = rows.filter(pk=workflow_id).first()
    if workflow is None:
        raise NotFound
    return workflow, Seat(workflow.project, role_of(workflow))


def batch_seat(user: User, batch_id: UUID) -> tuple[Batch, Seat]:
    """The same of a batch."""
    rows = reachable_batches(caller_of_user(user)).select_related("project__organization", "queue")
    batch = rows.filter(pk=batch_id).first()
    if batch is None:
        raise NotFound
    return batch, Seat(batch.project, role_of(batch))


def workflows(project: Project, *, before: UUID | None, limit: int) -> list[Workflow]:
    """Those of a project, the newest first."""
    rows = Workflow.objects.filter(project=project)
    return list((rows.filter(pk__lt=before) if before else rows).order_by("-id")[:limit])


def drawing(steps: Sequence[ListedStep], *, ended: Collection[str]) -> Drawing | None:
    """The graph from left to right, layer by layer; None where it would be too large to read."""
    if not steps or len(steps) > DRAWN:
        return None
    laid = plan(steps)
    if len(laid.edges) > TIES:
        return None
    boxes = {step.id: _box(step, laid) for step in steps}
    ties = [Tie(_curve(boxes[one], boxes[other]), boxes[one].step.state not in ended) for one, other in laid.edges]
    return Drawing(
        width=max(box.x for box in boxes.values()) + WIDE + EDGE,
        height=max(box.y for box in boxes.values()) + HIGH + EDGE,
        boxes=list(boxes.values()),
        ties=ties,
    )


def _box(step: ListedStep, laid: Plan) -> Box:
    layer, column = laid.places[step.id]
    y = EDGE + column * DOWN
    return Box(step, EDGE + layer * RIGHT, y, y + HIGH // 2)


def _curve(parent: Box, child: Box) -> str:
    start, end = parent.x + WIDE, child.x
    bend = (start + end) // 2
    return f"M{start} {parent.middle} C{bend} {parent.middle} {bend} {child.middle} {end} {child.middle}"
