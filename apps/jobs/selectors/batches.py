"""Reads of batches: how far they are."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.timezone import now

from apps.accounts.selectors import Caller, reachable
from apps.jobs.engine.count import Counted, count_batches
from apps.jobs.models import Batch, Job
from apps.jobs.selectors.workflows import since_of
from apps.jobs.states import FINAL


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """How far a batch is. What has been pruned counts as ended."""

    counts: Mapping[str, int]
    left: int
    percent: float
    finished_at: datetime | None  # None: not all have ended
    elapsed_seconds: float
    remaining_seconds: float | None  # a guess, by its pace so far; None: nothing has ended yet


def reachable_batches(caller: Caller) -> QuerySet[Batch]:
    """The batches a caller may see, each with its project and queue."""
    there = Q(queue=None) | Q(queue__deleted_at=None)
    rows = Batch.objects.filter(there).select_related("project", "queue")
    return reachable(rows, caller, project="project", organization="project__organization")


def live_ids(batch: Batch) -> list[UUID]:
    """Its jobs that have not ended, in id order."""
    rows = Job.objects.filter(shelved_on=None, batch_id=batch.pk)
    return list(rows.order_by("id").values_list("id", flat=True))


def progress_of(batch: Batch) -> BatchProgress:
    """How far one is."""
    return far_of([batch])[batch.pk]


def far_of(batches: Sequence[Batch]) -> dict[UUID, BatchProgress]:
    """How far each of some batches is, in one statement."""
    if not batches:
        return {}
    since = since_of(min(batch.created_at for batch in batches))
    counted: dict[UUID, list[Counted]] = defaultdict(list)
    for row in count_batches(ids=[batch.pk for batch in batches], since=since):
        counted[row.group_id].append(row)
    return {batch.pk: _progress(batch, counted[batch.pk]) for batch in batches}


def _progress(batch: Batch, counted: Sequence[Counted]) -> BatchProgress:
    counts = {row.state: row.jobs for row in counted}
    left = sum(jobs for state, jobs in counts.items() if state not in FINAL)
    ended = batch.size - left
    last = max((row.finished_at for row in counted if row.finished_at), default=batch.created_at)
    elapsed = ((now() if left else last) - batch.created_at).total_seconds()
    return BatchProgress(
        counts=counts,
        left=left,
        percent=round(100 * ended / batch.size, 1) if batch.size else 100.0,
        finished_at=None if left else last,
        elapsed_seconds=max(elapsed, 0.0),
        remaining_seconds=(elapsed * left / ended if ended else None) if left else 0.0,
    )
