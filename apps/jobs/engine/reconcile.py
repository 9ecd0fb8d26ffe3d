"""Repair what gates count, should it ever differ from what runs."""

from dataclasses import dataclass
from uuid import UUID

from apps.jobs.engine.ready import NOWHERE
from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Drift:
    """A shard that counted `before` jobs while `running` ran. Fewer than run would have broken the cap."""

    queue_id: UUID
    shard: int
    before: int
    running: int


_hold = Statement.beside(__file__, lambda queue_id: queue_id)
recount = Statement.beside(__file__, Drift, "reconcile_count")  # for whoever holds the gates of a queue


def reconcile_steps(*, after: UUID = NOWHERE) -> Steps[tuple[UUID, list[Drift]] | None]:
    """Look at the first queue with a gate after this one: which it was, and what was repaired."""
    rows = yield from _hold.ask(after=after)
    if not rows:
        return None
    drifts = yield from recount.ask(queue_id=rows[0])
    return rows[0], drifts


reconcile = Verb(reconcile_steps)
