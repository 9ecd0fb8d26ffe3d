"""Fire the schedules whose time has come. Any number of schedulers may do so at once: a tick makes its job once."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db import Error, transaction
from uuid_utils.compat import uuid7

from apps.audit.record import SYSTEM
from apps.errors import BadInput, Conflict, IllegalMove, QueueFull
from apps.jobs import cron
from apps.jobs.engine import cron as engine
from apps.jobs.engine.cron import Due, Moved, TickRow
from apps.jobs.engine.enqueue import NewJob, enqueue
from apps.jobs.engine.late import LIMIT as LATE_LIMIT
from apps.jobs.engine.late import late
from apps.jobs.engine.wake import wake_promoter, wake_queue
from apps.jobs.models import Job
from apps.jobs.services.cancel import cancel
from apps.jobs.services.full import refuse_when_full
from apps.jobs.states import JobState, OnParentFailure, Overlap, TickOutcome
from apps.queues.models import Queue
from apps.queues.selectors import with_depth
from apps.sql import Trouble, trouble

log = structlog.get_logger("fencepost.schedules")

BATCH = 100  # schedules of one transaction
TROUBLE_MAX = 255


@dataclass(slots=True)
class _Work:
    """What is to be done for one schedule: rows of its ledger, the jobs of those that fire, and when it goes on."""

    due: Due
    ticks: list[TickRow] = field(default_factory=list)
    jobs: dict[datetime, NewJob] = field(default_factory=dict)
    before: UUID | None = None  # the job that has not ended, where there is one
    moved: Moved | None = None


def fire_due(*, limit: int = BATCH) -> int:
    """Fire up to so many schedules that are due, in one transaction; answers how many were seen to.

    Those that wait for a job, or spoil it for the others, are tried each by itself. One that fails for good is set aside.
    """
    held: list[Due] = []
    apart: list[UUID] = []
    try:
        with transaction.atomic():
            held += engine.due(limit=limit)
            apart += _fire(held)
    except Exception as error:
        if not held or _may_pass(error):
            raise
        apart = [one.id for one in held]
    return len(held) - len(apart) + sum(map(_fire_alone, apart))


def judge_deadlines() -> int:
    """Tell of ticks that had no successful job by their deadline; answers how many were looked at, some at once."""
    judged = late(limit=LATE_LIMIT)
    for one in judged:
        if one.late:
            log.warning("tick is late", schedule=str(one.schedule_id), scheduled_for=one.scheduled_for.isoformat())
    return len(judged)


def fire_now(due: Due, *, why: str) -> UUID:
    """Fire a schedule that the caller holds, whatever its time; answers the job's id.

    Raises what a submit would, and Conflict where the job before has not ended and the schedule skips.
    """
    queue = with_depth(Queue.objects.filter(pk=due.queue_id)).get()
    work = _Work(due, before=_still_live([due]).get(due.id))
    _add_job(work, due.now, queue)
    _skip_overlaps(work)
    [tick] = work.ticks
    if tick.outcome != TickOutcome.FIRED or tick.job_id is None:
        raise Conflict(tick.why)
    work.ticks = [replace(tick, why=why)]
    _carry_out([work])
    return tick.job_id


def _fire_alone(schedule_id: UUID) -> bool:
    """Fire one schedule; False leaves it to the next time, when whoever holds what it needs may have let go."""
    try:
        with transaction.atomic():
            engine.be_impatient()
            _fire(engine.due(limit=1, only=schedule_id), alone=True)
    except Exception as error:
        if _may_pass(error):
            log.info("schedule waits for a lock", schedule=str(schedule_id), error=str(error).strip())
            return False
        log.exception("schedule failed and is set aside", schedule=str(schedule_id))
        said = f"{type(error).__name__}: {error}".replace("\x00", "")[:TROUBLE_MAX]
        engine.move([Moved(schedule_id=schedule_id, next_run_at=None, trouble=said)])
    return True


def _may_pass(error: Exception) -> bool:
    return isinstance(error, Error) and trouble(error) is not Trouble.FATAL


def _fire(held: Sequence[Due], *, alone: bool = False) -> list[UUID]:
    """Fire schedules that are held; answers those that are to be fired alone, for they need the row of a job."""
    if not held:
        return []
    queues = {one.pk: one for one in with_depth(Queue.objects.filter(pk__in={due.queue_id for due in held}))}
    live = _still_live(held)
    apart = [one.id for one in held if one.id in live and one.overlap_policy != Overlap.SKIP and not alone]
    works = [_planned(due, queues[due.queue_id], live.get(due.id)) for due in held if due.id not in apart]
    _carry_out(works)
    engine.move([work.moved for work in works if work.moved])
    return apart


def _still_live(held: Sequence[Due]) -> dict[UUID, UUID]:
    """The jobs of their last ticks that have not ended, by schedule; read after the schedules are held."""
    last = {due.last_job_id for due in held if due.last_job_id}
    live = set(Job.objects.filter(shelved_on=None, id__in=last).values_list("id", flat=True)) if last else set()
    return {due.id: due.last_job_id for due in held if due.last_job_id is not None and due.last_job_id in live}


def _planned(due: Due, queue: Queue, before: UUID | None) -> _Work:
    """What becomes of the ticks of a schedule that have come, and when the next one is."""
    work = _Work(due, before=before)
    try:
        expression, where = cron.parse(due.cron_expr), cron.zone(due.timezone)
    except BadInput as error:
        said = str(error)[:TROUBLE_MAX]
        log.error("schedule cannot be read and is set aside", schedule=str(due.id), trouble=said)
        work.moved = Moved(schedule_id=due.id, next_run_at=None, trouble=said)
        return work
    judged = cron.plan(
        expression,
        where,
        since=due.next_run_at,
        now=due.now,
        catch_up=due.catchup_policy,
        most=due.catchup_max,
        grace=timedelta(seconds=settings.CRON_GRACE_SECONDS),
    )
    for one in judged:
        if one.fires:
            _try_job(work, one.at, queue)
        else:
            work.ticks.append(_row(due, one.at, TickOutcome.MISSED, one.why))
    _skip_overlaps(work)
    work.moved = Moved(schedule_id=due.id, next_run_at=cron.after(expression, where, due.now))
    return work


def _try_job(work: _Work, at: datetime, queue: Queue) -> None:
    try:
        _add_job(work, at, queue)
    except (BadInput, QueueFull) as refusal:
        work.ticks.append(_row(work.due, at, TickOutcome.SKIPPED, str(refusal)))


def _add_job(work: _Work, at: datetime, queue: Queue) -> None:
    due = work.due
    if queue.allowed_types is not None and due.job_type not in queue.allowed_types:
        raise BadInput.at("#/job_type", "This queue does not take this type.")
    refuse_when_full(queue, jobs=len(work.jobs) + 1)
    job = NewJob(
        queue_id=due.queue_id,
        id=uuid7(),
        type=due.job_type,
        payload=due.payload,
        priority=due.priority,
        run_at=at + cron.jitter(due.id, at, due.jitter_seconds),
        schedule_id=due.id,
    )
    work.jobs[at] = job
    work.ticks.append(replace(_row(due, at, TickOutcome.FIRED), job_id=job.id))


def _skip_overlaps(work: _Work) -> None:
    """Let ticks make no job where one before would overlap, as the schedule's policy has it."""
    policy = work.due.overlap_policy
    fired = [tick for tick in work.ticks if tick.outcome == TickOutcome.FIRED]
    if policy == Overlap.SKIP:
        spared = fired if work.before else fired[1:]
        why = f"The job before it has not ended: {work.before or fired[0].job_id}." if spared else ""
    elif policy == Overlap.CANCEL_RUNNING:
        spared, why = fired[:-1], "Its job would be cancelled at once by that of the tick after it."
    else:
        return
    for tick in spared:
        del work.jobs[tick.at]
        work.ticks[work.ticks.index(tick)] = _row(work.due, tick.at, TickOutcome.SKIPPED, why)


def _row(due: Due, at: datetime, outcome: TickOutcome, why: str = "") -> TickRow:
    deadline = None if due.deadline_seconds is None else at + timedelta(seconds=due.deadline_seconds)
    return TickRow(schedule_id=due.id, at=at, outcome=outcome.value, why=why[:TROUBLE_MAX], deadline_at=deadline)


def _carry_out(works: Sequence[_Work]) -> None:
    """Write the ticks down, and make the jobs of those that nobody wrote down before."""
    fresh = engine.note([tick for work in works for tick in work.ticks])
    plain: list[NewJob] = []
    for work in works:
        made = [job for at, job in work.jobs.items() if (work.due.id, at) in fresh]
        if made and work.moved:
            work.moved = replace(work.moved, last_job_id=made[-1].id)
        if work.before or len(made) > 1:
            _in_turn(work, made)
        else:
            plain += made
    if plain and any(one.state == JobState.SCHEDULED for one in enqueue(plain)):
        wake_promoter()
    for queue_id in {work.due.queue_id for work in works if work.jobs}:
        wake_queue(queue_id)


def _in_turn(work: _Work, made: Sequence[NewJob]) -> None:
    """Make jobs each of which waits for the end of the one before, however that ends."""
    before = work.before
    for job in made:
        if before and before == work.before and work.due.overlap_policy == Overlap.CANCEL_RUNNING:
            _stop(before)
        if before:
            job.depends_on, job.on_parent_failure = [before], OnParentFailure.RUN.value
        enqueue([job])
        before = job.id


def _stop(job_id: UUID) -> None:
    try:
        cancel(job_id=job_id, actor=SYSTEM)
    except IllegalMove:
        return  # it has ended meanwhile
