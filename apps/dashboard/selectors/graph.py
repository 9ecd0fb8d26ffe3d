"""The graph of a workflow, laid out to be drawn: what is alike and hangs alike is one pile."""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.jobs.engine.list_steps import ListedStep
from apps.jobs.selectors.workflows import Plan, plan
from apps.jobs.states import JobState

WIDE, HIGH = 168, 40  # of a step, in the units of the drawing
RIGHT, DOWN, EDGE = 216, 56, 16  # from step to step, and around all
DRAWN, TIES = 200, 1500  # boxes and curves; more than that nobody could read
LAID = 1000  # steps that are looked at
PILE = 7  # so many steps of one type with the same parents and children are one pile
FIRST = (  # whose state a pile shows
    JobState.DEAD_LETTER,
    JobState.RETRY_WAIT,
    JobState.RUNNING,
    JobState.AWAITING_APPROVAL,
    JobState.PAUSED,
    JobState.QUEUED,
    JobState.SCHEDULED,
    JobState.BLOCKED,
    JobState.CANCELLED,
    JobState.COMPLETED,
)


@dataclass(frozen=True, slots=True)
class Box:
    """One step of the drawing, or a pile of them."""

    steps: list[ListedStep]
    x: int
    y: int
    middle: int

    @property
    def is_pile(self) -> bool:
        return len(self.steps) > 1

    @property
    def step(self) -> ListedStep:
        """The one whose state is shown: that which most needs to be seen."""
        return min(self.steps, key=lambda step: FIRST.index(JobState(step.state)))

    @property
    def counts(self) -> list[tuple[str, int]]:
        """How many are in each state, what needs to be seen first."""
        found = Counter(step.state for step in self.steps)
        return sorted(found.items(), key=lambda item: FIRST.index(JobState(item[0])))


@dataclass(frozen=True, slots=True)
class Tie:
    """A curve from a parent to its child."""

    path: str
    waits: bool  # some parent has not ended


@dataclass(frozen=True, slots=True)
class Drawing:
    width: int
    height: int
    boxes: list[Box]
    ties: list[Tie]


def drawing(steps: Sequence[ListedStep], *, ended: Collection[str]) -> Drawing | None:
    """The graph from left to right, layer by layer; None where it would be too large to read."""
    if not steps or len(steps) > LAID:
        return None
    laid = plan(steps)
    boxes = _boxes(_piles(steps, laid), laid)
    at = {step.id: place for place, box in enumerate(boxes) for step in box.steps}
    between = {(at[parent], at[child]) for parent, child in laid.edges}
    if len(boxes) > DRAWN or len(between) > TIES:
        return None
    waiting = {place for place, box in enumerate(boxes) if any(step.state not in ended for step in box.steps)}
    return Drawing(
        width=max(box.x for box in boxes) + WIDE + EDGE,
        height=max(box.y for box in boxes) + HIGH + EDGE,
        boxes=boxes,
        ties=[Tie(_curve(boxes[one], boxes[other]), one in waiting) for one, other in sorted(between)],
    )


def _piles(steps: Sequence[ListedStep], laid: Plan) -> list[list[ListedStep]]:
    parents: dict[UUID, set[UUID]] = defaultdict(set)
    children: dict[UUID, set[UUID]] = defaultdict(set)
    for parent, child in laid.edges:
        parents[child].add(parent)
        children[parent].add(child)
    alike: dict[Hashable, list[ListedStep]] = defaultdict(list)
    for step in sorted(steps, key=lambda step: laid.places[step.id]):
        layer, _ = laid.places[step.id]
        alike[layer, step.type, frozenset(parents[step.id]), frozenset(children[step.id])].append(step)
    return [pile for some in alike.values() for pile in ([some] if len(some) >= PILE else [[one] for one in some])]


def _boxes(piles: Sequence[list[ListedStep]], laid: Plan) -> list[Box]:
    """Each in the column of its layer, level with what it waits for where that is free."""
    parents: dict[UUID, list[UUID]] = defaultdict(list)
    for parent, child in laid.edges:
        parents[child].append(parent)
    layers: dict[int, list[list[ListedStep]]] = defaultdict(list)
    for pile in piles:
        layers[laid.places[pile[0].id][0]].append(pile)
    rows: dict[UUID, int] = {}
    boxes = []
    for layer in sorted(layers):
        level = [_level([rows[parent] for parent in parents[pile[0].id] if parent in rows]) for pile in layers[layer]]
        free = 0  # from here on
        for pile, row in sorted(zip(layers[layer], level, strict=True), key=lambda one: one[1]):
            place = max(free, round(row))
            free = place + 1
            rows |= dict.fromkeys((step.id for step in pile), place)
            y = EDGE + place * DOWN
            boxes.append(Box(pile, EDGE + layer * RIGHT, y, y + HIGH // 2))
    return boxes


def _level(rows: Sequence[int]) -> float:
    return sum(rows) / len(rows) if rows else 0.0


def _curve(parent: Box, child: Box) -> str:
    start, end = parent.x + WIDE, child.x
    bend = (start + end) // 2
    return f"M{start} {parent.middle} C{bend} {parent.middle} {bend} {child.middle} {end} {child.middle}"
