"""Whoever was cancelled because a parent failed, and would be left behind if that ran again without them."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement, Steps


@dataclass(frozen=True, slots=True)
class Descendant:
    """A cancelled job below a dead letter; without a `state` it has been pruned."""

    job_id: UUID
    state: str | None
    workflow_id: UUID | None
    failed: list[UUID]  # those of its parents that failed


_family = Statement.beside(__file__, Descendant)


def left_behind_steps(*, ids: Sequence[UUID]) -> Steps[list[Descendant]]:
    """The cancelled descendants of these dead letters whom nothing else keeps from running again."""
    family: list[Descendant] = yield from _family.ask(ids=list(ids))
    return _undoomed(ids, family)


def _undoomed(ids: Collection[UUID], family: Sequence[Descendant]) -> list[Descendant]:
    """Leave out whoever another failed parent dooms all the same, and whoever hangs on those."""
    left = {one.job_id: one for one in family}
    children: dict[UUID, list[UUID]] = defaultdict(list)
    for one in family:
        for parent in one.failed:
            children[parent].append(one.job_id)
    doomed = [parent for parent in children if parent not in left and parent not in ids]
    while doomed:
        doomed += [child for child in children[doomed.pop()] if left.pop(child, None)]
    return list(left.values())
