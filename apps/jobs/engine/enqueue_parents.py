"""What enqueue does about parents: hold the live ones, find the ended ones, write the edges."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from apps.errors import BadInput, Fault
from apps.jobs.engine.wake_dependents import wake_dependents
from apps.jobs.states import JobState, OnParentFailure
from apps.sql import Statement

if TYPE_CHECKING:
    from apps.jobs.engine.enqueue import NewJob

LOOKS = 3  # at parents that come back to life while we look


@dataclass(frozen=True, slots=True)
class _Parent:
    id: UUID
    state: str


_live = Statement.beside(__file__, _Parent)
_ended = Statement.beside(__file__, _Parent, "enqueue_ended")
_failed: Statement[UUID] = Statement.beside(__file__, lambda job_id: job_id, "enqueue_failed")
_edges = Statement.beside(__file__, int, "enqueue_edges")
_within = Statement.beside(__file__, int, "enqueue_within")


@dataclass(frozen=True, slots=True)
class Ties:
    """The state of every parent named in one call, as it is while the live ones are held."""

    states: dict[UUID, str] = field(default_factory=dict)

    def settled(self, job: "NewJob", parent: UUID) -> bool:
        """True when the child need not wait for this parent."""
        state = self.states[parent]
        failed = state in (JobState.DEAD_LETTER, JobState.CANCELLED)
        runs_anyway = job.on_parent_failure == OnParentFailure.RUN
        return state == JobState.COMPLETED or (failed and runs_anyway)

    def pending(self, job: "NewJob") -> int | None:
        """How many parents the child waits for; None when it has none."""
        if not job.depends_on:
            return len(job.waits_for) or None
        return sum(not self.settled(job, parent) for parent in set(job.depends_on)) + len(job.waits_for)


def look_up(jobs: "Sequence[NewJob]", *, pointer: str) -> Ties:
    """Hold the live parents in id order, then look for the missing ones on the shelves and hold those that failed.

    All jobs of one call belong to one project; parents of another do not exist for them.
    """
    named = {parent for job in jobs for parent in job.depends_on}
    if not named:
        return Ties()
    queue_id = jobs[0].queue_id
    states: dict[UUID, str] = {}
    for _ in range(LOOKS):
        states |= {row.id: row.state for row in _live(parents=sorted(named - states.keys()), queue_id=queue_id)}
        found, revived = _on_the_shelves(named - states.keys(), queue_id)
        states |= found
        if not revived:
            break
    _refuse_unknown(jobs, states.keys(), pointer)
    return Ties(states)


def _on_the_shelves(missing: Set[UUID], queue_id: UUID) -> tuple[dict[UUID, str], bool]:
    """The states of parents that have ended, the failed ones held; and whether one came back to life meanwhile."""
    if not missing:
        return {}, False
    since = min(map(day_of, missing))
    states = {row.id: row.state for row in _ended(parents=sorted(missing), since=since, queue_id=queue_id)}
    failed = {parent for parent, state in states.items() if state != JobState.COMPLETED}
    if not failed:
        return states, False
    gone = failed.difference(_failed(parents=sorted(failed), since=since))
    return {parent: state for parent, state in states.items() if parent not in gone}, bool(gone)


def tie(jobs: "Sequence[NewJob]", ties: Ties, made: set[UUID]) -> set[UUID]:
    """Write the edges of the jobs that were made; answers those that a failed parent cancelled at once."""
    if any(job.waits_for for job in jobs):
        _within(ids=_as_text(job.id for job in jobs), parents=",".join([_places(job.waits_for) for job in jobs]))
    edges = [
        (parent, job.id, ties.settled(job, parent)) for job in jobs if job.id in made for parent in set(job.depends_on)
    ]
    if not edges:
        return set()
    parents, children, settled = zip(*edges, strict=True)
    _edges(parents=_as_text(parents), children=_as_text(children), settled=list(settled) if any(settled) else None)
    failed = {p for p in parents if ties.states[p] in (JobState.DEAD_LETTER, JobState.CANCELLED)}
    woken = wake_dependents(ended={parent: ties.states[parent] for parent in failed})
    return {child.job_id for child in woken if child.doomed}


def _places(places: Sequence[int]) -> str:
    return " ".join(map(str, places))


def _as_text(ids: Iterable[UUID]) -> str:
    """Ids are read several times faster from one text than from an array."""
    return " ".join([one.hex for one in ids])


def day_of(job_id: UUID) -> date:
    """A day before which a job cannot have ended: that of its UUIDv7, less one for clocks that disagree at midnight."""
    try:
        return datetime.fromtimestamp((job_id.int >> 80) / 1000, UTC).date() - timedelta(days=1)
    except (OverflowError, ValueError):  # no id of ours
        return date.max


def _refuse_unknown(jobs: "Sequence[NewJob]", known: Set[UUID], pointer: str) -> None:
    missing = (
        (place, next((at for at, one in enumerate(job.depends_on) if one not in known), None))
        for place, job in enumerate(jobs)
    )
    faults = [
        Fault(f"{pointer.format(place)}/depends_on/{at}", f"There is no job {jobs[place].depends_on[at]}.")
        for place, at in missing
        if at is not None
    ]
    if faults:
        raise BadInput(f"{faults[0].pointer}: {faults[0].detail}", errors=faults)
