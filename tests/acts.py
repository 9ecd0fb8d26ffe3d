"""What happens in tests, in a word: enqueue, take, finish; and time, which is moved by ageing rows."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from apps.audit.engine.days import cut_day
from apps.audit.engine.partition import EVENT
from apps.jobs.engine import partition as jobs
from apps.jobs.engine.claim import Claim, claim
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.engine.enqueue import enqueue as enqueue_many
from apps.jobs.engine.report import Ended, Reported, report
from apps.queues.models import Queue
from apps.workers.models import Session

PING = "ping"
OFFERS: dict[str, int | None] = {PING: None}


def enqueue(queue: Queue, *, type: str = PING, **fields: Any) -> UUID:
    """Make one job and answer its id."""
    [made] = enqueue_many([NewJob(queue_id=queue.pk, type=type, **fields)])
    return made.job_id


def take(
    session: Session, queue: Queue, *, limit: int = 10, offers: dict[str, int | None] | None = None
) -> list[Claim]:
    """Claim what there is for one session."""
    return claim(session_id=session.pk, queues=[queue.pk], offers=offers or OFFERS, limit=limit).jobs


def take_one(session: Session, queue: Queue) -> Claim:
    [taken] = take(session, queue, limit=1)
    return taken


def finish(session: Session, *taken: Claim, outcome: str = "success", **fields: Any) -> list[Reported]:
    """Report these attempts; nothing comes back for those that are fenced."""
    ended = [
        Ended(job_id=one.job_id, fence=one.fence, session_id=session.pk, outcome=outcome, **fields) for one in taken
    ]
    return report(ended=ended)


def make_due(*ids: UUID) -> None:
    """Their time has come."""
    _run("UPDATE jobs_job_live SET run_at = clock_timestamp() - interval '1 second' WHERE id = ANY(%s)", [list(ids)])


def pass_deadline(*ids: UUID) -> None:
    """They have run for longer than they may, grace included."""
    _run("UPDATE jobs_job_live SET deadline_at = clock_timestamp() - interval '1 hour' WHERE id = ANY(%s)", [list(ids)])


def fall_silent(session: Session) -> None:
    """The session's lease has run out."""
    _run(
        "UPDATE workers_session SET lease_expires_at = clock_timestamp() - interval '1 second',"
        " heartbeat_at = clock_timestamp() - (lease_seconds + 1) * interval '1 second' WHERE id = %s",
        [session.pk],
    )


def let_days_pass(job_id: UUID, days: int) -> date:
    """A finished job, its ledger, its log and its dead letter's age go back by so many days; answers its day."""
    day = datetime.now(UTC).date() - timedelta(days=days)
    for table in jobs.TABLES:
        cut_day(table, day)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('fencepost.guard', 'off', true)")
        cursor.execute(
            "UPDATE jobs_job SET created_at = created_at - %(ago)s::interval, finished_at = finished_at - %(ago)s::interval,"
            " shelved_on = CASE WHEN state = 'dead_letter' THEN shelved_on"
            " ELSE ((finished_at - %(ago)s::interval) AT TIME ZONE 'UTC')::date END"
            " WHERE id = %(id)s AND shelved_on IS NOT NULL",
            {"ago": f"{days} days", "id": job_id},
        )
        cursor.execute(
            "UPDATE jobs_attempt SET started_at = started_at - %(ago)s::interval, finished_at = finished_at - %(ago)s::interval"
            " WHERE job_id = %(id)s",
            {"ago": f"{days} days", "id": job_id},
        )
        cursor.execute("UPDATE jobs_log SET at = at - %s::interval WHERE job_id = %s", [f"{days} days", job_id])
    return day


def let_events_age(days: int) -> None:
    """Every event so far goes back by so many days."""
    for ago in range(days, days + 20):
        cut_day(EVENT, datetime.now(UTC).date() - timedelta(days=ago))
    _run("UPDATE audit_event SET at = at - %s::interval", [f"{days} days"])


def _run(text: str, params: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text, params)
