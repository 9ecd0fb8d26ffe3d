"""Schedules as pages show them: with the last tick of each, and one with its ledger and what is to come."""

from datetime import datetime
from uuid import UUID

from django.db.models import F, Func, OuterRef, QuerySet, Subquery, TextField

from apps.accounts.models import Project, User
from apps.accounts.selectors.callers import caller_of_user
from apps.accounts.selectors.reach import role_of
from apps.dashboard.selectors.access import Seat
from apps.errors import NotFound
from apps.jobs.models import Schedule, Tick
from apps.jobs.selectors.schedules import reachable_schedules


def schedule_seat(user: User, schedule_id: UUID) -> tuple[Schedule, Seat]:
    """A schedule and the seat from which it is seen; raises NotFound for a stranger's as for none."""
    rows = _with_last_tick(reachable_schedules(caller_of_user(user))).defer("payload")
    schedule = rows.select_related("queue__project__organization").filter(pk=schedule_id).first()
    if schedule is None:
        raise NotFound
    return schedule, Seat(schedule.queue.project, role_of(schedule))


def schedules(project: Project, *, before: UUID | None, limit: int) -> list[Schedule]:
    """Those of a project, the newest first, each with its last tick."""
    rows = (
        _with_last_tick(Schedule.objects.filter(queue__project=project, queue__deleted_at=None))
        .select_related("queue")
        .defer("payload")
    )
    return list((rows.filter(pk__lt=before) if before else rows).order_by("-id")[:limit])


def ledger(schedule: Schedule, *, before: datetime | None, limit: int) -> list[Tick]:
    """Its ticks, the newest first."""
    rows = Tick.objects.filter(schedule_id=schedule.pk)
    return list((rows.filter(scheduled_for__lt=before) if before else rows).order_by("-scheduled_for")[:limit])


def payload(schedule: Schedule) -> str:
    """Printed by the database, as a job's is."""
    printed = Func(F("payload"), function="jsonb_pretty", output_field=TextField())
    return Schedule.objects.filter(pk=schedule.pk).values_list(printed, flat=True).first() or ""


def _with_last_tick(rows: QuerySet[Schedule]) -> QuerySet[Schedule]:
    ticks = Tick.objects.filter(schedule_id=OuterRef("pk")).order_by("-scheduled_for")
    return rows.annotate(
        last_at=Subquery(ticks.values("scheduled_for")[:1]),
        last_outcome=Subquery(ticks.values("outcome")[:1]),
        last_why=Subquery(ticks.values("why")[:1]),
    )
