"""What tests of jobs look at: a job wherever it stands, its ledger, what was told; and whose doing it was."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from apps.audit.models import Outbox
from apps.audit.record import Actor
from apps.jobs.engine.promote import promote
from apps.jobs.engine.reap import reap
from apps.jobs.engine.report import Reported
from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import find
from apps.queues.models import Queue
from apps.workers.models import Session
from tests import acts

ANN = Actor(name="ann@example.com", request_id="request-1")


def look(job_id: UUID) -> Any:
    """The Job as it is now, on whichever shelf; Any, since a test knows which of its times are set."""
    return find(job_id)


def row(job_id: UUID) -> dict[str, Any]:
    """Every column of the job, to be compared."""
    return dict(Job.objects.filter(id=job_id).values().get())


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


def wait_of(done: Reported) -> timedelta:
    """How long a job waits after the attempt that was just reported."""
    assert done.run_at is not None
    return done.run_at - ledger(done.job_id)[-1].finished_at


def let_lapse(session: Session) -> None:
    """The session has been silent for its lease: a short one, as a server that has just started spares everyone for one."""
    run("UPDATE workers_session SET lease_seconds = least(lease_seconds, 0.01) WHERE id = %s", [session.pk])
    acts.fall_silent(session)


def overrun(job_id: UUID, seconds: float) -> None:
    """The attempt is past its deadline by so much."""
    run(
        "UPDATE jobs_job_live SET deadline_at = clock_timestamp() - %s::interval WHERE id = %s",
        [timedelta(seconds=seconds), job_id],
    )


def as_if_tried(job_id: UUID, attempts: int) -> None:
    """So many attempts have been made already."""
    run(
        "UPDATE jobs_job_live SET attempt = %(n)s, fence = greatest(fence, %(n)s) WHERE id = %(id)s",
        {"n": attempts, "id": job_id},
    )


def reap_all() -> list[Reported]:
    """One sweep by a reaper that has known its server for ever."""
    return reap()


def come_round(job_id: UUID) -> None:
    """A job that waits for its time, or its retry, has its time come."""
    acts.make_due(job_id)
    promote(limit=1000)
