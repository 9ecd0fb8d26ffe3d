"""How the jobs of a remote worker ended: applied once, however often it is said; the rest was fenced."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from apps.jobs.engine.admit import Key, admit, batches
from apps.jobs.engine.heartbeat import Told
from apps.jobs.engine.last_word import last_word
from apps.jobs.engine.log import Line, log_held
from apps.jobs.engine.report import Ended, Missing, Reported, report, report_missing
from apps.jobs.engine.wake import wake_promoter, wake_queue
from apps.jobs.states import JobState
from apps.runtime.supervisor.reporting import come_soon
from apps.sql import after_commit
from apps.workers.models import Session

type Places = dict[UUID, tuple[UUID, str | None]]  # the queue and the concurrency key of each job that a session runs


def end(ended: Sequence[Ended], places: Places) -> list[Reported]:
    """End attempts and wake whoever may run now; answers those that still ran. In a transaction."""
    rows = report(ended=ended)
    _wake(rows, ended, places)
    return rows


def settle(
    *,
    session: Session,
    ended: Sequence[Ended],
    places: Places,
    lines: Sequence[Line] = (),
    told: Sequence[tuple[int, Told]] = (),
) -> list[Missing]:
    """End attempts of a session, as it says that they did; answers those that were fenced.

    An attempt that is named twice ends as it was named first; with another outcome the second is fenced, as it would be
    in a call of its own.
    """
    with transaction.atomic():
        if lines:
            log_held(session_id=session.pk, lines=lines)
        if told:
            last_word(session_id=session.pk, told=told)
        rows = end(ended, places)
    known = {(row.job_id, row.fence) for row in rows}
    first = {(one.job_id, one.fence): one.outcome for one in reversed(ended)}
    missing = [
        one for one in ended if (one.job_id, one.fence) not in known or one.outcome != first[one.job_id, one.fence]
    ]
    if not missing:
        return []
    answered = report_missing(ended=missing, session_id=session.pk)
    return [one for one in answered if not one.applied]


def _wake(rows: Sequence[Reported], ended: Sequence[Ended], places: Places) -> None:
    """Children, followers, jobs handed back and those of the same keys; the promoter for what comes again soon."""
    done = {row.job_id for row in rows}
    follow = [job for one in ended if one.job_id in done for job in one.follow]
    queues = {queue_id for row in rows for queue_id in row.woke} | {job.queue_id for job in follow}
    queues |= {places[row.job_id][0] for row in rows if row.state == JobState.QUEUED and row.job_id in places}
    for queue_id in queues:
        wake_queue(queue_id)
    keys = {(queue_id, key) for job_id, (queue_id, key) in places.items() if key is not None and job_id in done}
    _let_through(keys | {(job.queue_id, job.concurrency_key) for job in follow if job.concurrency_key is not None})
    if come_soon(rows) or any(job.delay_ms or job.run_at for job in follow):
        wake_promoter()


def _let_through(keys: set[Key]) -> None:
    """Others of these keys may run now: once this has committed, for their turns wait for nobody."""

    def admit_all() -> None:
        for some in batches(keys):
            for row in admit(keys=some):
                wake_queue(row.queue_id)

    if keys:
        after_commit(admit_all)
