"""Is the database's story true? Judged by what customers were told and by what handlers wrote down on their own."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.bench.services.chaos.diary import END, START, Line
from apps.bench.services.chaos.history import CANCELLED, SUBMITTED
from apps.bench.services.chaos.work import HOSTILE
from apps.jobs.models import Attempt, Job
from apps.jobs.states import FINAL, JobState, Outcome
from apps.workers.models import Session

NAMED = 20  # offenders named per question
REPORT_TIME = 1.0  # seconds before the lease's end in which a worker in good health has reported
HEALED_AFTER = 8.0  # seconds until all have come back to a database that was away: the longest pause, and a lease
MICRO = 1_000_000  # a fence is at least the microsecond of its claim


@dataclass(frozen=True, slots=True)
class Strike:
    """When a fault struck; `boot` is the process it struck, None for all."""

    fault: str
    began: float
    ended: float
    boot: str | None = None


@dataclass
class Story:
    """Everything that is known when all is over."""

    history: Sequence[dict[str, Any]]
    diary: Sequence[Line]
    strikes: Sequence[Strike]
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    leases: dict[UUID, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.submitted = {told["id"]: told for told in self.history if told["what"] == SUBMITTED}
        self.ends = {(line.job, line.fence): line for line in self.diary if line.what == END}
        self.ledger = {(str(row["job_id"]), row["fence"]): row for row in self.attempts}

    def outcomes(self) -> Counter[str]:
        return Counter(row["outcome"] for row in self.attempts)


def story(history: Sequence[dict[str, Any]], diary: Sequence[Line], strikes: Sequence[Strike]) -> Story:
    """Read the database's side."""
    jobs = Job.objects.values("id", "type", "state", "fence", "generation", "payload", "finished_at")
    rows = Attempt.objects.values("job_id", "fence", "generation", "outcome", "session_id", "started_at", "finished_at")
    leases = Session.objects.values_list("id", "lease_expires_at")
    return Story(
        history=history,
        diary=diary,
        strikes=[*strikes, *_hostile(diary)],
        jobs={str(job["id"]): dict(job) for job in jobs.iterator()},
        attempts=[dict(row) for row in rows.iterator()],
        leases={session: lease.timestamp() for session, lease in leases},
    )


def judge(told: Story) -> dict[str, list[str]]:
    """Every question, and the offenders."""
    return {name: sorted(set(question(told))) for name, question in QUESTIONS.items()}


def _hostile(diary: Iterable[Line]) -> list[Strike]:
    """A hostile handler strikes whatever shares its process."""
    return [
        Strike(line.type, line.at, line.at + HEALED_AFTER, line.boot)
        for line in diary
        if line.what == START and line.type in HOSTILE
    ]


# --- the questions: each answers the offenders ---


def lost_submissions(told: Story) -> Iterable[str]:
    """Acknowledged, and not there, or without an end after the drain."""
    for job in told.submitted:
        if job not in told.jobs:
            yield f"{job} is gone"
        elif told.jobs[job]["state"] not in FINAL:
            yield f"{job} is {told.jobs[job]['state']}"


def made_twice(told: Story) -> Iterable[str]:
    """Two jobs of one submission: a key that was shown twice made two."""
    marks = Counter(job["payload"].get("mark") for job in told.jobs.values())
    return (f"{mark} has {count} jobs" for mark, count in marks.items() if mark and count > 1)


def double_successes(told: Story) -> Iterable[str]:
    """Two successes in one generation."""
    wins = Counter((row["job_id"], row["generation"]) for row in told.attempts if row["outcome"] == Outcome.SUCCESS)
    return (f"{job} generation {generation}" for (job, generation), count in wins.items() if count > 1)


def started_twice(told: Story) -> Iterable[str]:
    """One claim, two starts."""
    starts = Counter((line.job, line.fence) for line in told.diary if line.what == START)
    return (f"{job}/{fence}" for (job, fence), count in starts.items() if count > 1)


def completed_without_end(told: Story) -> Iterable[str]:
    """Called completed, and no handler wrote an end under that fence."""
    for job, row in told.jobs.items():
        if row["state"] == JobState.COMPLETED and (job, row["fence"]) not in told.ends:
            yield f"{job}/{row['fence']}"


def success_without_end(told: Story) -> Iterable[str]:
    """The ledger says success, and no handler wrote an end under that fence."""
    for pair, row in told.ledger.items():
        if row["outcome"] == Outcome.SUCCESS and pair not in told.ends:
            yield f"{pair[0]}/{pair[1]}"


def lying_losses(told: Story) -> Iterable[str]:
    """The ledger says lost; its handler ended well in time to report it, and no fault stood between."""
    for pair, row in told.ledger.items():
        line = told.ends.get(pair)
        if row["outcome"] != Outcome.LOST or line is None:
            continue
        in_time = line.at + REPORT_TIME < told.leases.get(row["session_id"], 0.0)
        if in_time and not _struck(told, line, row["finished_at"]):
            yield f"{pair[0]}/{pair[1]}"


def _struck(told: Story, line: Line, lost_at: datetime) -> bool:
    return any(
        strike.boot in (None, line.boot)
        and strike.began <= lost_at.timestamp()
        and strike.ended + (HEALED_AFTER if strike.boot is None else 0) >= line.at
        for strike in told.strikes
    )


def started_after_cancel(told: Story) -> Iterable[str]:
    """Claimed after the customer was told that it is cancelled. A later generation may have been revived since."""
    cancels: dict[str, float] = {}
    for one in told.history:
        if one["what"] == CANCELLED:
            cancels.setdefault(one["id"], one["at"])
    for line in told.diary:
        if line.what == START and line.generation == 1 and line.fence > cancels.get(line.job, float("inf")) * MICRO:
            yield f"{line.job}/{line.fence}"


def started_before_parents(told: Story) -> Iterable[str]:
    """A child that ran before its parents had ended; parents that were replayed have two ends, and are left out."""
    first: dict[str, float] = defaultdict(lambda: float("inf"))
    for line in told.diary:
        if line.what == START:
            first[line.job] = min(first[line.job], line.fence / MICRO)
    for child, asked in told.submitted.items():
        for parent in asked.get("parents", ()):
            row = told.jobs.get(parent)
            if row and row["generation"] == 1 and row["finished_at"] and first[child] < row["finished_at"].timestamp():
                yield f"{child} before {parent}"


def ran_unknown(told: Story) -> Iterable[str]:
    """Run by a handler, and unknown to the database."""
    return (line.job for line in told.diary if line.what == START and line.job not in told.jobs)


QUESTIONS: dict[str, Callable[[Story], Iterable[str]]] = {
    question.__name__: question
    for question in (
        lost_submissions,
        made_twice,
        double_successes,
        started_twice,
        completed_without_end,
        success_without_end,
        lying_losses,
        started_after_cancel,
        started_before_parents,
        ran_unknown,
    )
}
