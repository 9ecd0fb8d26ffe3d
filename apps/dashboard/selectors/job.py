"""Everything a job's page shows, read shelf by shelf with the days that cannot matter left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db.models import F, Func, Q, QuerySet, TextField
from django.utils.timezone import now

from apps.accounts.models import ApiToken, User
from apps.jobs.models import Attempt, Dependency, Job, JobLog, Progress
from apps.jobs.selectors import DEAD_LETTERS
from apps.workers.models import Session, Worker

ATTEMPTS = 50  # shown of one job
LINES = 500  # of its log, the newest
KIN = 50  # of its parents, and of its children
FILES = 50
SKEW = timedelta(days=1)  # between a job's own clock and the day of a partition
IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif"})


@dataclass(frozen=True, slots=True)
class Kin:
    """Parents or children; `more` when there are others than these."""

    jobs: list[Job]
    more: bool


@dataclass(frozen=True, slots=True)
class ResultFile:
    name: str
    size: int
    is_image: bool


@dataclass(frozen=True, slots=True)
class Texts:
    """Payload and result as PostgreSQL prints them: every digit of a number is kept."""

    payload: str
    result: str | None


def attempts(job: Job) -> list[Attempt]:
    """The ledger of a job, newest first, each with `worker_name` and `lines`."""
    rows = list(
        Attempt.objects.filter(job_id=job.pk, finished_at__gt=job.created_at - SKEW).order_by("-fence")[:ATTEMPTS]
    )
    names = dict(Worker.objects.filter(pk__in={row.worker_id for row in rows}).values_list("pk", "uid"))
    for row in rows:
        row.worker_name = names.get(row.worker_id) if row.worker_id else ""  # type: ignore[attr-defined]
    return rows


def log_lines(job: Job) -> list[JobLog]:
    """The newest lines of all attempts, in the order they were written."""
    lines = JobLog.objects.filter(job_id=job.pk, at__gt=job.created_at - SKEW).order_by("-at", "-line")[:LINES]
    return list(lines)[::-1]


def progress(job: Job) -> Progress | None:
    return Progress.objects.filter(pk=job.pk).first()


def holder(job: Job) -> Session | None:
    """The session that runs it now."""
    return Session.objects.select_related("worker").filter(pk=job.session_id).first() if job.session_id else None


def texts(job: Job) -> Texts:
    """Printed by the database, so that no float stands between."""
    printed = [Func(F(name), function="jsonb_pretty", output_field=TextField()) for name in ("payload", "result")]
    row = Job.objects.filter(pk=job.pk, shelved_on=job.shelved_on).values_list(*printed).first()
    payload, result = row or ("", None)
    return Texts(payload or "", result)


def parents(job: Job) -> Kin:
    edges = Dependency.objects.filter(child_id=job.pk).values_list("parent_id", flat=True)
    return _kin(edges, job.created_at - timedelta(days=settings.RETENTION_JOBS_DAYS))


def children(job: Job) -> Kin:
    if not job.has_dependents:
        return Kin([], more=False)
    edges = Dependency.objects.filter(parent_id=job.pk).values_list("child_id", flat=True)
    return _kin(edges, job.created_at)


def submitter(job: Job) -> str:
    """Who submitted it: an address, or a token and whose it is."""
    if job.submitted_by is None:
        return ""
    if email := User.objects.filter(pk=job.submitted_by).values_list("email", flat=True).first():
        return email
    token = ApiToken.objects.select_related("user").filter(pk=job.submitted_by).first()
    return f"token {token} of {token.user.email}" if token else ""


def files(job: Job) -> list[ResultFile]:
    """What its handler saved, by name."""
    folder = Path(settings.RESULTS_DIR) / str(job.pk)
    try:
        found = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError:  # nothing saved, or the files live with another process
        return []
    return [ResultFile(path.name, path.stat().st_size, path.suffix.lower() in IMAGES) for path in found[:FILES]]


def several(ids: Iterable[UUID], *, since: datetime) -> list[Job]:
    """Jobs by id, without their payloads, wherever they stand; none that ended before `since`."""
    wanted = list(ids)
    if not wanted:
        return []
    shelves = Q(shelved_on=None) | Q(shelved_on=DEAD_LETTERS) | Q(shelved_on__range=_days(since))
    rows = Job.objects.filter(shelves, pk__in=wanted).select_related("queue").defer("payload", "result")
    found = {row.pk: row for row in rows}
    return [found[pk] for pk in wanted if pk in found]


def last_errors(jobs: Sequence[Job]) -> dict[UUID, Attempt]:
    """The last attempt of each of these jobs that ended with an error."""
    ended = [job.finished_at or job.run_at for job in jobs if job.attempt]
    if not ended:
        return {}
    rows: QuerySet[Attempt] = Attempt.objects.filter(
        job_id__in=[job.pk for job in jobs],
        finished_at__range=(min(job.created_at for job in jobs) - SKEW, now() + SKEW),
        error_class__isnull=False,
    )
    newest = rows.defer("traceback", "runtime").order_by("job_id", "-fence").distinct("job_id")
    return {row.job_id: row for row in newest}


def _kin(edges: "QuerySet[Dependency, UUID]", since: datetime) -> Kin:
    ids = list(edges[: KIN + 1])
    return Kin(several(ids[:KIN], since=since), more=len(ids) > KIN)


def _days(since: datetime) -> tuple[object, object]:
    return (since.astimezone(UTC).date() - SKEW, now().date() + SKEW)
