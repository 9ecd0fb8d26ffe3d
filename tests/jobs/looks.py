"""What tests of jobs look at: a job wherever it stands, its ledger, what was told; and whose doing it was."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from apps.audit.models import Outbox
from apps.audit.record import Actor
from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import find
from apps.queues.models import Queue
from apps.workers.models import Session
from tests import acts

ANN = Actor(name="ann@example.com", request_id="request-1")


def look(job_id: UUID) -> Job:
    """The job as it is now, on whichever shelf."""
    return find(job_id)


def state(job_id: UUID) -> str:
    return find(job_id).state


def reason(job_id: UUID) -> str | None:
    return find(job_id).reason


def ledger(job_id: UUID) -> list[Attempt]:
    """The attempts of a job that have ended, in order."""
    return list(Attempt.objects.filter(job_id=job_id).order_by("fence"))


def told(kind: str) -> list[Outbox]:
    """The facts of one kind that wait for their numbers, in order."""
    return list(Outbox.objects.filter(kind=kind).order_by("id"))


def told_of(job_id: UUID) -> list[str]:
    """The kinds of all facts about one job, in order."""
    return list(Outbox.objects.filter(job_ids__contains=[job_id]).order_by("id").values_list("kind", flat=True))


def order(session: Session, queue: Queue, *, limit: int = 10) -> list[UUID]:
    """Whom the queue serves first: ids one by one, each finished before the next is taken."""
    served = []
    for _ in range(limit):
        taken = acts.take(session, queue, limit=1)
        if not taken:
            break
        served.append(taken[0].job_id)
        acts.finish(session, *taken)
    return served


def fail_for_good(session: Session, queue: Queue, job_id: UUID) -> None:
    """Take the job, which must be next, and make it a dead letter."""
    taken = acts.take_one(session, queue)
    assert taken.job_id == job_id
    acts.finish(session, taken, outcome="permanent_error", error_class="Broken", error_message="It broke.")


def let_wait(job_id: UUID, seconds: float) -> None:
    """The job has been in its queue for so much longer."""
    run(
        "UPDATE jobs_job_live SET created_at = created_at - %(ago)s, run_at = run_at - %(ago)s,"
        " rank = rank - (extract(EPOCH FROM %(ago)s::interval) * 1000000)::bigint WHERE id = %(id)s",
        {"ago": timedelta(seconds=seconds), "id": job_id},
    )


def run(text: str, params: Any = None) -> list[tuple[Any, ...]]:
    """Lay out rows by hand."""
    with connection.cursor() as cursor:
        cursor.execute(text, params)
        return cursor.fetchall() if cursor.description else []
