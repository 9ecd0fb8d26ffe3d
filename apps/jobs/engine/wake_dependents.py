"""After a parent's end: wake the children it was the last to hold up, cancel those it dooms."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from apps.jobs.engine.shelve import shelve
from apps.jobs.states import JobState, Reason
from apps.sql import Statement, Steps, Verb

LIMIT = 1000  # children settled by one statement
ROUNDS = 100  # statements in one transaction; wake_left finishes what is left


@dataclass(frozen=True, slots=True)
class Woken:
    job_id: UUID
    queue_id: UUID
    state: str
    doomed: bool


_wake = Statement.beside(__file__, Woken)
_rest = Statement.beside(__file__, lambda *nothing: None, "wake_rest")


def wake(*, ended: Mapping[UUID, str]) -> Steps[list[Woken]]:
    """Settle the edges of ended parents (id → final state), and of the children that fail with them.

    Must run as a statement of its own after the parents' end, in the same transaction: only a new
    snapshot sees the edge of a child that arrived while the parent was ending.
    """
    done: list[Woken] = []
    for _ in range(ROUNDS):
        if not ended:
            break
        parents = list(ended)
        rows = yield from _wake.ask(parents=parents, states=[ended[parent] for parent in parents], limit=LIMIT)
        done += rows
        doomed = sorted(row.job_id for row in rows if row.doomed)
        failed: dict[UUID, str] = {}
        if doomed:
            shelved = yield from shelve(ids=doomed, reason=Reason.PARENT_FAILED)
            failed = {row.job_id: JobState.CANCELLED for row in shelved if row.has_dependents}
        ended = {**(ended if len(rows) >= LIMIT else {}), **failed}
    if ended:
        yield from _rest.ask(parents=list(ended))
    return done


wake_dependents = Verb(wake)
