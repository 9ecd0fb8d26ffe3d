"""Jobs by where they stand: live, dead letter, or the day they ended."""

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from apps.accounts.selectors import Caller, reachable
from apps.errors import NotFound
from apps.jobs.engine.enqueue_parents import day_of
from apps.jobs.models import Attempt, Job
from apps.queues.models import Queue

DEAD_LETTERS = date(9999, 12, 31)  # the shelf that is not a day
DAY = timedelta(days=1)  # around midnight this clock and the database's may name different days
LOOKS = 2  # a job revived from a day's shelf between the two statements stands where the first one looks


def find(job_id: UUID, *, among: QuerySet[Job] | None = None) -> Job:
    """Read one job from whichever shelf it stands on; `among` narrows and joins, as a queryset of jobs.

    The live and the dead ones first, then the days it can have ended on. Raises NotFound.
    """
    since = day_of(job_id)
    if job_id.version != 7 or since == date.max:  # no id of ours
        raise NotFound
    jobs = (Job.objects.all() if among is None else among).filter(id=job_id)
    days = Q(shelved_on__range=(since, datetime.now(UTC).date() + DAY))
    for _ in range(LOOKS):
        for shelves in (Q(shelved_on=None) | Q(shelved_on=DEAD_LETTERS), days):
            if job := jobs.filter(shelves).first():
                return job
    raise NotFound


def reachable_jobs(caller: Caller) -> QuerySet[Job]:
    """The jobs a caller may see, each with its queue and project."""
    rows = Job.objects.select_related("queue__project").filter(queue__deleted_at=None)
    return reachable(rows, caller, project="queue__project", organization="queue__project__organization")


def organization_of(job_id: UUID) -> UUID:
    """The organization a job belongs to, for the audit trail."""
    return find(job_id, among=Job.objects.select_related("queue__project")).queue.project.organization_id


def count_held(queue_ids: Collection[UUID]) -> dict[str, int]:
    """How many jobs of some queues may still run or be replayed, by state."""
    held = Job.objects.filter(Q(shelved_on=None) | Q(shelved_on=DEAD_LETTERS), queue_id__in=queue_ids)
    return dict(held.order_by().values_list("state").annotate(count=Count("id")))


def dead_letters(*, queue: Queue, limit: int, error_class: str | None = None, after: UUID | None = None) -> list[UUID]:
    """The oldest dead letters of a queue, those `after` one, narrowed to those whose last attempt failed with a class."""
    dead = Job.objects.filter(shelved_on=DEAD_LETTERS, queue=queue)
    if after is not None:
        dead = dead.filter(id__gt=after)
    if error_class is not None:
        last = Attempt.objects.filter(job_id=OuterRef("id"), fence=OuterRef("fence"))
        dead = dead.filter(Exists(last.filter(error_class=error_class)))
    return list(dead.order_by("id").values_list("id", flat=True)[:limit])
