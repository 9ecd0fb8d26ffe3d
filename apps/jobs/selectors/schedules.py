"""Reads of schedules and of their ticks."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from django.db.models import QuerySet

from apps.accounts.models import Role
from apps.accounts.selectors import Caller, reachable
from apps.errors import BadInput
from apps.jobs import cron
from apps.jobs.models import Schedule


@dataclass(frozen=True, slots=True)
class Coming:
    """One tick that is to come, as clocks show it where the schedule lives and where its reader does."""

    at: datetime
    local: datetime
    viewer: datetime
    jitter: timedelta


def reachable_schedules(caller: Caller) -> QuerySet[Schedule]:
    """The schedules a caller may see, each with its queue and project."""
    rows = Schedule.objects.select_related("queue__project").filter(queue__deleted_at=None)
    return reachable(rows, caller, project="queue__project", organization="queue__project__organization")


def preview(schedule: Schedule, *, after: datetime, count: int, viewer: ZoneInfo) -> list[Coming]:
    """Its next ticks, as if it were not paused; none where it cannot be read."""
    try:
        expression, where = cron.parse(schedule.cron_expr), cron.zone(schedule.timezone)
    except BadInput:
        return []
    return [
        Coming(at, at.astimezone(where), at.astimezone(viewer), cron.jitter(schedule.pk, at, schedule.jitter_seconds))
        for at in islice(cron.fires(expression, where, after), count)
    ]


def hides_payload(schedule: Schedule, role: Role) -> bool:
    """Whether what it submits is hidden from a role, as its jobs' payloads are."""
    queue = schedule.queue
    return role.level < Role(queue.hide_payloads_below or queue.project.hide_payloads_below).level
