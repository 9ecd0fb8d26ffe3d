"""Make, change, pause, resume, fire and delete schedules, on someone's behalf."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.accounts.services.fields import change, hold, make, told
from apps.audit.record import Actor, record
from apps.errors import BadInput
from apps.jobs import cron
from apps.jobs.engine import cron as engine
from apps.jobs.engine.cron import Due, TickRow
from apps.jobs.engine.server import server
from apps.jobs.engine.zones import zones
from apps.jobs.models import Schedule
from apps.jobs.services.check import as_json
from apps.jobs.services.ticks import fire_now
from apps.jobs.states import TickOutcome
from apps.queues.engine.tell import tell
from apps.queues.models import Queue

WHEN = frozenset({"cron_expr", "timezone"})
PAUSE = {"paused_at": None, "paused_by": "", "pause_reason": ""}


@transaction.atomic
def create_schedule(*, queue: Queue, actor: Actor, name: str, **fields: Any) -> Schedule:
    """Make a schedule; `fields` are those of the model. Raises BadInput, and Taken for a name that is."""
    schedule = Schedule(queue=queue, name=name, **_checked(queue, fields))
    schedule.next_run_at = _next(schedule, server()[0].now)
    make(schedule)
    _record(schedule, actor, "create", after=told(schedule))
    return schedule


@transaction.atomic
def update_schedule(*, schedule: Schedule, actor: Actor, **fields: Any) -> Schedule:
    """Change the named fields. Another expression or zone counts from now on, and nothing fires for the change."""
    held = _hold(schedule)
    fields = _checked(held.queue, fields)
    if any(name in fields and fields[name] != getattr(held, name) for name in WHEN):
        now = server()[0].now
        _leave_ticks(held, now, TickOutcome.MISSED, "The schedule was changed before it fired.")
        wanted = Schedule(**{name: fields.get(name, getattr(held, name)) for name in WHEN})
        fields |= {"next_run_at": _next(wanted, now), "trouble": ""}
    before, after = change(held, fields)
    if after:
        _record(held, actor, "update", before=before, after=after)
    return held


@transaction.atomic
def pause_schedule(*, schedule: Schedule, actor: Actor, reason: str = "") -> Schedule:
    """Let it fire no more until it is resumed; its jobs go on. Pausing a paused one changes the reason."""
    held = _hold(schedule)
    asked = {"paused_at": held.paused_at or server()[0].now, "paused_by": actor.name, "pause_reason": reason}
    before, after = change(held, asked)
    if after:
        _tell(held, "paused", by=actor.name, reason=reason)
        _record(held, actor, "pause", before=before, after=after)
    return held


@transaction.atomic
def resume_schedule(*, schedule: Schedule, actor: Actor) -> Schedule:
    """Let it fire again, at its next tick from now; does nothing to one that is neither paused nor in trouble."""
    held = _hold(schedule)
    if held.paused_at is None and not held.trouble:
        return held
    now = server()[0].now
    if held.paused_at:
        said = f": {held.pause_reason}" if held.pause_reason else ""
        _leave_ticks(held, now, TickOutcome.SKIPPED, f"Paused by {held.paused_by}{said}")
    before, after = change(held, {**PAUSE, "trouble": "", "next_run_at": _next(held, now)})
    _tell(held, "resumed", by=actor.name)
    _record(held, actor, "resume", before=before, after=after)
    return held


@transaction.atomic
def run_schedule(*, schedule: Schedule, actor: Actor) -> Schedule:
    """Fire it now, paused or not; its next tick stays. Conflict where it skips and the job before has not ended."""
    held = _hold(schedule)
    job_id = fire_now(_as_due(held), why=f"Run by {actor.name}.")
    held.last_job_id = job_id
    held.save(update_fields=["last_job_id"])
    _record(held, actor, "run", after={"job": str(job_id)})
    return held


@transaction.atomic
def delete_schedule(*, schedule: Schedule, actor: Actor) -> None:
    """Delete it with its ledger; jobs it made go on."""
    held = _hold(schedule)
    before = told(held)
    held.delete()
    _record(schedule, actor, "delete", before=before)


def _checked(queue: Queue, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a model cannot check by itself; raises BadInput naming the field."""
    ready = dict(fields)
    if "cron_expr" in ready:
        ready["cron_expr"] = cron.tidy(ready["cron_expr"])
        cron.parse(ready["cron_expr"])
    if "timezone" in ready:
        cron.zone(ready["timezone"])
        if ready["timezone"] not in zones():
            raise BadInput.at("#/timezone", "The database does not know this zone.")
    if "payload" in ready:
        _check_payload(ready["payload"])
    if "job_type" in ready and queue.allowed_types is not None and ready["job_type"] not in queue.allowed_types:
        raise BadInput.at("#/job_type", "This queue does not take this type.")
    return ready


def _check_payload(payload: Any) -> None:
    try:
        as_json(payload)
    except ValueError as error:
        raise BadInput.at("#/payload", str(error)) from None


def _next(schedule: Schedule, now: datetime) -> datetime | None:
    return cron.after(cron.parse(schedule.cron_expr), cron.zone(schedule.timezone), now)


def _leave_ticks(schedule: Schedule, now: datetime, outcome: TickOutcome, why: str) -> None:
    """Write down the ticks that have come and will not fire, the newest of them."""
    since = schedule.next_run_at
    if since is None or since > now:
        return
    try:
        expression, where = cron.parse(schedule.cron_expr), cron.zone(schedule.timezone)
    except BadInput:
        return
    ats = [since, *cron.latest(expression, where, since=since, upto=now, most=cron.LISTED)]
    engine.note([TickRow(schedule_id=schedule.pk, at=at, outcome=outcome.value, why=why[:255]) for at in ats])


def _as_due(schedule: Schedule) -> Due:
    now = server()[0].now
    return Due(
        id=schedule.pk,
        queue_id=schedule.queue_id,
        cron_expr=schedule.cron_expr,
        timezone=schedule.timezone,
        job_type=schedule.job_type,
        payload=as_json(schedule.payload),
        priority=schedule.priority,
        overlap_policy=schedule.overlap_policy,
        catchup_policy=schedule.catchup_policy,
        catchup_max=schedule.catchup_max,
        jitter_seconds=0,
        deadline_seconds=schedule.deadline_seconds,
        next_run_at=now,
        last_job_id=schedule.last_job_id,
        now=now,
    )


def _hold(schedule: Schedule) -> Schedule:
    return hold(Schedule.objects.select_related("queue__project"), schedule.pk)


def _tell(schedule: Schedule, what: str, **data: Any) -> None:
    tell(
        project_id=schedule.queue.project_id,
        kind=f"schedule.{what}",
        queue_id=schedule.queue_id,
        schedule=schedule.pk,
        name=schedule.name,
        **data,
    )


def _record(schedule: Schedule, actor: Actor, verb: str, **facts: Mapping[str, Any]) -> None:
    record(
        actor=actor,
        organization_id=schedule.queue.project.organization_id,
        action=f"schedule.{verb}",
        target_type="schedule",
        target_id=schedule.pk,
        **facts,
    )
