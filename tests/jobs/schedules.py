"""Schedules in tests: made by the service, brought to their tick by ageing the row, and looked at."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from apps.jobs import services
from apps.jobs.models import Job, Schedule, Tick
from apps.queues.models import Queue
from tests.jobs.looks import ANN, run, told

MINUTELY = "* * * * *"
RARELY = (
    f"0 3 1 {(datetime.now(UTC).month + 5) % 12 + 1} *"  # in half a year: no tick of its own comes while a test looks
)


def make_schedule(queue: Queue, cron_expr: str = RARELY, *, name: str = "nightly", **fields: Any) -> Schedule:
    """A schedule of pings."""
    return services.create_schedule(
        queue=queue, actor=ANN, name=name, cron_expr=cron_expr, **{"job_type": "ping", **fields}
    )


def come_due(*schedules: Schedule, ago: timedelta = timedelta(seconds=1)) -> datetime:
    """Their next tick was so long ago; answers when."""
    at = now() - ago
    run("UPDATE jobs_schedule SET next_run_at = %s WHERE id = ANY(%s)", [at, [one.pk for one in schedules]])
    return at


def now() -> datetime:
    """The database's clock."""
    [[at]] = run("SELECT clock_timestamp()")
    return at.astimezone(UTC)  # type: ignore[no-any-return]


def again(schedule: Schedule) -> Any:
    """The schedule as it is now."""
    return Schedule.objects.get(pk=schedule.pk)


def ledger(schedule: Schedule) -> list[tuple[datetime, str]]:
    """Its ticks and what became of them, in order."""
    return list(ticks(schedule).values_list("scheduled_for", "outcome"))


def ticks(schedule: Schedule) -> Any:
    return Tick.objects.filter(schedule=schedule).order_by("scheduled_for")


def outcomes(schedule: Schedule) -> list[str]:
    return [outcome for _, outcome in ledger(schedule)]


def jobs(schedule: Schedule) -> list[Job]:
    """The jobs it made, oldest first, on whichever shelf."""
    return list(Job.objects.filter(schedule_id=schedule.pk).order_by("id"))


def job_ids(schedule: Schedule) -> list[UUID]:
    return [job.pk for job in jobs(schedule)]


def said(kind: str) -> list[dict[str, Any]]:
    """What the events of one kind tell, in order."""
    return [dict(one.data or {}) for one in told(kind)]


def fire() -> int:
    """One turn of the loop."""
    return services.fire_due()
