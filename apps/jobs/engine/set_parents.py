"""Change whom a job waits for, as long as it has not been started."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from apps.errors import BadInput
from apps.jobs.engine import enqueue_parents as family
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.engine.wake_dependents import wake_dependents
from apps.jobs.states import FINAL, JobState
from apps.sql import Statement

NAMED = 12  # jobs of a circle that a sentence names


@dataclass(frozen=True, slots=True)
class Reparented:
    """Where a job stands, and for whom it waited before."""

    queue_id: UUID
    concurrency_key: str | None
    before: str
    state: str
    parents: list[UUID] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Held:
    id: UUID
    queue_id: UUID
    type: str
    on_parent_failure: str | None
    has_run: bool
    parents: list[UUID]


_turn = Statement.beside(__file__, lambda project_id, _: project_id, "set_parents_turn")
_hold = Statement.beside(__file__, _Held, "set_parents_hold")
_family = Statement.beside(__file__, lambda parent_id, child_id: (parent_id, child_id), "set_parents_family")
_edges = Statement.beside(__file__, int, "set_parents_edges")
_set = Statement.beside(__file__, Reparented)


@transaction.atomic
def set_parents(*, job_id: UUID, parents: Sequence[UUID]) -> Reparented | None:
    """Let a job wait for these and no others; None if it has been started, or has ended.

    Raises BadInput at #/depends_on/<n> for a parent that does not exist in its project and for itself, at #/depends_on for
    a circle, naming it.
    A parent that has ended counts by its outcome, as for a job that is submitted.
    """
    turns: list[UUID] = _turn(job_id=job_id)
    held = _hold(job_id=job_id, ids=sorted({job_id, *parents}), project_id=turns[0]) if turns else []
    job = next((one for one in held if one.id == job_id), None)
    if job is None or job.has_run:
        return None
    _refuse_circles(job_id, parents)
    child = NewJob(
        id=job_id,
        queue_id=job.queue_id,
        type=job.type,
        depends_on=sorted(set(parents).difference(job.parents)),
        on_parent_failure=job.on_parent_failure,
    )
    ties = _looked_up(child, parents)
    return _changed(child, ties, job.parents, gone=set(job.parents).difference(parents))


def _looked_up(child: NewJob, parents: Sequence[UUID]) -> family.Ties:
    """Only those that are new are looked up; a fault points at where one was given."""
    try:
        return family.look_up([child], pointer="#")
    except BadInput as error:
        [fault] = error.errors
        unknown = child.depends_on[int(fault.pointer.rpartition("/")[2])]
        raise BadInput.at(f"#/depends_on/{parents.index(unknown)}", fault.detail) from None


def _changed(child: NewJob, ties: family.Ties, before: list[UUID], *, gone: Iterable[UUID]) -> Reparented:
    fresh = list(child.depends_on)
    _edges(job_id=child.id, gone=list(gone), parents=fresh, settled=[ties.settled(child, parent) for parent in fresh])
    [now] = _set(job_id=child.id)
    failed = {parent: state for parent, state in ties.states.items() if state in FINAL - {JobState.COMPLETED}}
    doomed = any(one.doomed for one in wake_dependents(ended=failed)) if failed else False
    state = JobState.CANCELLED.value if doomed else now.state
    return Reparented(now.queue_id, now.concurrency_key, now.before, state, sorted(before))


def _refuse_circles(job_id: UUID, parents: Sequence[UUID]) -> None:
    if job_id in parents:
        raise BadInput.at(f"#/depends_on/{parents.index(job_id)}", "A job cannot wait for itself.")
    below = dict(_family(job_id=job_id, parents=list(parents)))
    if not below:
        return
    names = [str(one) for one in _way(job_id, parents, below)]
    if len(names) > NAMED:
        names = [*names[: NAMED - 2], f"{len(names) - NAMED + 1} more", names[-1]]
    raise BadInput.at("#/depends_on", f"The job would wait for itself: {' → '.join(names)}.")


def _way(job_id: UUID, parents: Collection[UUID], below: Mapping[UUID, UUID]) -> list[UUID]:
    """From a job over one of its new parents, and whom that waits for, back to it: walked from its end."""
    way = [job_id]
    while way[-1] not in parents and len(way) <= len(below):
        way.append(below[way[-1]])
    return [job_id, *reversed(way)]
