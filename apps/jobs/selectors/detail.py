"""Everything there is to know of one job. Its rows stand in days, and those that cannot matter are left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from apps.audit.models import Entry
from apps.errors import BadInput
from apps.jobs.models import Attempt, Dependency, Job, JobLog, Progress
from apps.jobs.selectors.shelves import DEAD_LETTERS
from apps.jobs.states import JobState
from apps.workers.models import Session, Worker

SKEW = timedelta(days=1)  # between the clock that made an id and the day of a partition
ATTEMPTS_MAX, LINES_MAX, KIN_MAX, FILES_MAX, EDITS_MAX = 100, 1000, 1000, 100, 100


@dataclass(frozen=True, slots=True)
class Relative:
    """A parent or child; without type and state where it has been pruned."""

    id: UUID
    type: str | None
    state: str | None


@dataclass(frozen=True, slots=True)
class Replaced:
    """A payload that a replay put another one in the place of."""

    payload: Any
    replaced_at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class Ran:
    """One attempt with what it wrote."""

    attempt: Attempt
    worker: str | None
    logs: list[JobLog]


def progress(job: Job) -> Progress | None:
    """What its last attempt said of itself."""
    return Progress.objects.filter(pk=job.pk, fence=job.fence).first()


def holder(job: Job) -> Session | None:
    """The session that runs it."""
    if job.state != JobState.RUNNING or job.session_id is None:
        return None
    return Session.objects.select_related("worker").filter(pk=job.session_id).first()


def history(job: Job, *, runs_on: str | None = None) -> list[Ran]:
    """The newest attempts that ended, oldest first, each with its lines: the newest LINES_MAX of the job.

    With the worker that runs it, the one that has not ended comes last.
    """
    ended = Attempt.objects.filter(job_id=job.pk, finished_at__gt=job.created_at - SKEW).order_by("-fence")
    attempts = list(ended[:ATTEMPTS_MAX])[::-1]
    lines = list(logs(job).order_by("-fence", "-line")[:LINES_MAX])[::-1] if job.fence else []
    by_fence = {fence: list(some) for fence, some in groupby(lines, key=lambda line: line.fence)}
    workers = {one.worker_id for one in attempts if one.worker_id}
    names: dict[UUID | None, str] = (
        dict(Worker.objects.filter(pk__in=workers).values_list("pk", "uid")) if workers else {}
    )
    ran = [Ran(one, names.get(one.worker_id), by_fence.get(one.fence, [])) for one in attempts]
    if runs_on is not None and all(one.fence != job.fence for one in attempts):
        ran.append(Ran(_running(job), runs_on, by_fence.get(job.fence, [])))
    return ran


def _running(job: Job) -> Attempt:
    """As the ledger will have it; its end is not known."""
    known: Any = {name: getattr(job, name) for name in ("fence", "attempt", "generation", "started_at")}
    return Attempt(job_id=job.pk, **known)


def logs(job: Job) -> QuerySet[JobLog]:
    """All its lines."""
    return JobLog.objects.filter(job_id=job.pk, at__gt=job.created_at - SKEW)


def log_page(job: Job, *, after: str | None, limit: int) -> tuple[list[JobLog], bool]:
    """Lines in the order they were written, from behind "<fence>.<line>" on; and whether there are more."""
    lines = logs(job).order_by("fence", "line")
    if after:
        fence, _, line = after.partition(".")
        if not (fence.isascii() and fence.isdigit() and line.isascii() and line.isdigit() and len(after) <= 30):
            raise BadInput.at("?after", "This is no `next` of a log.")
        lines = lines.filter(Q(fence__gt=int(fence)) | Q(fence=int(fence), line__gt=int(line)))
    found = list(lines[: limit + 1])
    return found[:limit], len(found) > limit


def parents(job: Job) -> list[Relative]:
    """What it waits for, or waited."""
    ids = Dependency.objects.filter(child_id=job.pk).values_list("parent_id", flat=True)[:KIN_MAX]
    return _relatives(ids, since=job.created_at - timedelta(days=settings.RETENTION_JOBS_DAYS))


def children(job: Job) -> list[Relative]:
    """What waits for it, or waited."""
    if not job.has_dependents:
        return []
    ids = Dependency.objects.filter(parent_id=job.pk).values_list("child_id", flat=True)[:KIN_MAX]
    return _relatives(ids, since=job.created_at)


def earlier_payloads(job: Job) -> list[Replaced]:
    """The payloads it was replayed without, oldest first; the audit trail keeps them."""
    if job.generation == 1:
        return []
    edits = Entry.objects.filter(target_id=str(job.pk), action="job.replay", before__has_key="payload")
    return [Replaced((one.before or {})["payload"], one.at, one.actor) for one in edits.order_by("id")[:EDITS_MAX]]


def files(job_id: UUID) -> list[Path]:
    """The files a job saved."""
    folder = Path(settings.RESULTS_DIR) / str(job_id)
    try:
        return sorted(path for path in folder.iterdir() if _is_plain(path))[:FILES_MAX]
    except OSError:
        return []


def _is_plain(path: Path) -> bool:
    """A handler's links could lead out of its folder."""
    return path.is_file() and not path.is_symlink() and not path.name.startswith(".")


def _relatives(ids: Iterable[UUID], *, since: datetime) -> list[Relative]:
    wanted: Sequence[UUID] = list(ids)
    if not wanted:
        return []
    shelves = Q(shelved_on=None) | Q(shelved_on=DEAD_LETTERS) | Q(shelved_on__gte=(since - SKEW).date())
    rows = Job.objects.filter(shelves, id__in=wanted).order_by().values_list("id", "type", "state")
    known = {key: Relative(key, kind, state) for key, kind, state in rows}
    return [known.get(key) or Relative(key, None, None) for key in sorted(wanted)]
