"""What a job's page shows beyond apps/jobs/selectors/detail.py."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import F, Func, Q, QuerySet, TextField
from django.utils.timezone import now

from apps.accounts.models import ApiToken, User
from apps.jobs.models import Dependency, Job, JobLog
from apps.jobs.selectors import DEAD_LETTERS, detail
from apps.jobs.selectors.targets import names

LINES = 500  # shown of its log
KIN = 50  # shown of its parents, and of its children
DAY = timedelta(days=1)  # between a job's own clock and the day of a partition
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


@dataclass(frozen=True, slots=True)
class Bound:
    """The names of the worker that a job requires, and of the one that it, or its workflow, was assigned to."""

    required: str | None
    assigned: str | None


def lines(job: Job) -> list[JobLog]:
    """The newest lines of all attempts, the open one included, in the order they were written."""
    return list(detail.logs(job).order_by("-fence", "-line")[:LINES])[::-1]


def texts(job: Job) -> Texts:
    """Printed by the database, so that no float stands between."""
    printed = [Func(F(name), function="jsonb_pretty", output_field=TextField()) for name in ("payload", "result")]
    row = Job.objects.filter(pk=job.pk, shelved_on=job.shelved_on).values_list(*printed).first()
    payload, result = row or ("", None)
    return Texts(payload or "", result)


def decided_at(job: Job) -> datetime | None:
    """When somebody approved or rejected it."""
    return datetime.fromisoformat(job.approval["at"]) if job.approval and "at" in job.approval else None


def parents(job: Job) -> Kin:
    edges = Dependency.objects.filter(child_id=job.pk).values_list("parent_id", flat=True)
    return _kin(edges, job.created_at - timedelta(days=settings.RETENTION_JOBS_DAYS))


def children(job: Job) -> Kin:
    if not job.has_dependents:
        return Kin([], more=False)
    edges = Dependency.objects.filter(parent_id=job.pk).values_list("child_id", flat=True)
    return _kin(edges, job.created_at)


def bound(job: Job) -> Bound:
    """The workers it is bound to."""
    found = names([job.required_worker, job.assigned_worker])
    return Bound(found.get(job.required_worker), found.get(job.assigned_worker))


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
    return [ResultFile(path.name, path.stat().st_size, path.suffix.lower() in IMAGES) for path in detail.files(job.pk)]


def several(ids: Iterable[UUID], *, since: datetime) -> list[Job]:
    """Jobs by id, without their payloads, wherever they stand; none that ended before `since`."""
    wanted = list(ids)
    if not wanted:
        return []
    shelves = Q(shelved_on=None) | Q(shelved_on=DEAD_LETTERS) | Q(shelved_on__range=_days(since))
    rows = Job.objects.filter(shelves, pk__in=wanted).select_related("queue").defer("payload", "result")
    found = {row.pk: row for row in rows}
    return [found[pk] for pk in wanted if pk in found]


def _kin(edges: "QuerySet[Dependency, UUID]", since: datetime) -> Kin:
    ids = list(edges[: KIN + 1])
    return Kin(several(ids[:KIN], since=since), more=len(ids) > KIN)


def _days(since: datetime) -> tuple[date, date]:
    return (since.astimezone(UTC).date() - DAY, now().date() + DAY)
