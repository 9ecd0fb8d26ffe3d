"""A job's life as a strip of time: what it waited for, when it ran, how that ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.dateparse import parse_datetime
from django.utils.timezone import now

from apps.jobs.models import Attempt, Job
from apps.jobs.states import JobState

WIDTH = 1000.0  # of the strip, in its own units
PARENTS = "Waited for its parents"
LEAST = 6.0  # what is too short to see is drawn this wide


@dataclass(frozen=True, slots=True)
class Stretch:
    """From one moment to the next; `kind` is wait, run, or the outcome of an attempt."""

    kind: str
    label: str
    start: datetime
    end: datetime
    x: float = 0
    width: float = 0

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


def timeline(job: Job, attempts: Sequence[Attempt], *, is_child: bool = False) -> list[Stretch]:
    """Alternating waits and runs from submission until the end, or until now."""
    held = PARENTS if is_child else "Not due yet"
    stretches: list[Stretch] = []
    moment = job.created_at
    for attempt in sorted(attempts, key=lambda row: row.fence):
        stretches += _wait(job, moment, attempt.started_at, held)
        label = f"Attempt {attempt.attempt}: {attempt.get_outcome_display().lower()}"
        stretches.append(Stretch(attempt.outcome, label, attempt.started_at, attempt.finished_at))
        moment = attempt.finished_at
    if job.state == JobState.RUNNING and job.started_at:
        stretches += _wait(job, moment, job.started_at, held)
        stretches.append(Stretch("run", f"Attempt {job.attempt}: running", job.started_at, now()))
    elif job.finished_at is None or not attempts:
        stretches += _wait(job, moment, job.finished_at or now(), held)
    return _placed(stretches)


def _wait(job: Job, start: datetime, end: datetime, held: str) -> list[Stretch]:
    """A wait may have parts: until somebody decided, until it was due, and for a worker."""
    parts = []
    decided = parse_datetime((job.approval or {}).get("at") or "")
    if decided and start < decided < end:
        parents = f"{held} and for approval" if held == PARENTS else "Waited for approval"
        parts.append(Stretch("delay", parents, start, decided))
        start, held = decided, "Not due yet"
    if start < job.run_at < end:
        parts.append(Stretch("delay", held, start, job.run_at))
        start = job.run_at
    if job.state == JobState.AWAITING_APPROVAL and (decided is None or decided < start):
        label = "Waits for approval"
    else:
        label = "Waited for a worker" if parts else "Waited"
    return [*parts, Stretch("wait", label, start, end)] if start < end else parts


def _placed(stretches: list[Stretch]) -> list[Stretch]:
    """Widths in proportion to time, none too thin to see."""
    total = sum(stretch.seconds for stretch in stretches) or 1
    rest = max(WIDTH - LEAST * len(stretches), 0)
    placed, x = [], 0.0
    for stretch in stretches:
        width = LEAST + rest * stretch.seconds / total
        placed.append(Stretch(stretch.kind, stretch.label, stretch.start, stretch.end, round(x, 2), round(width, 2)))
        x += width
    return placed
