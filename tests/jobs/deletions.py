"""Queues with everything in them, and the loop that empties what was deleted."""

import time
from dataclasses import dataclass
from uuid import UUID

from apps.jobs import services
from apps.jobs.loops import summarize_failures
from apps.jobs.services import vanish
from apps.queues.models import Queue
from apps.workers.models import Session
from tests.acts import enqueue, finish, take, take_one
from tests.jobs.looks import run
from tests.jobs.schedules import make_schedule

PATIENCE = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Full:
    """What a queue holds; `counts` is what a refusal says of it."""

    running: list[UUID]
    queued: list[UUID]
    waiting: list[UUID]
    dead: list[UUID]
    counts: dict[str, int]


def fill(queue: Queue, session: Session) -> Full:
    """Three that run, fifty queued, five between two attempts, ten dead, one that ended, and a schedule with ticks; how the dead failed is summed up."""
    ended = [enqueue(queue) for _ in range(16)]
    finish(session, take_one(session, queue))
    dead = ended[1:11]
    finish(session, *take(session, queue, limit=10), outcome="permanent_error", error_class="OSError")
    waiting = ended[11:]
    finish(session, *take(session, queue, limit=5), outcome="retryable_error", error_class="OSError")
    running = [enqueue(queue) for _ in range(3)]
    assert len(take(session, queue, limit=3)) == 3
    queued = [enqueue(queue) for _ in range(50)]
    schedule = make_schedule(queue)
    run(
        "INSERT INTO jobs_tick (schedule_id, scheduled_for, outcome, why)"
        " SELECT %s, now() - n * interval '1 minute', 'skipped', '' FROM generate_series(1, 30) AS n RETURNING 1",
        [schedule.pk],
    )
    run(
        "INSERT INTO queues_minutestat (queue_id, minute, completed, failed, dead_lettered, lost)"
        " SELECT %s, now() - n * interval '1 minute', 0, 0, 0, 0 FROM generate_series(1, 30) AS n RETURNING 1",
        [queue.pk],
    )
    summarize_failures()
    counts = {"running": 3, "queued": 50, "retry_wait": 5, "dead_letter": 10}
    return Full(running, queued, waiting, dead, counts)


def carry_out() -> None:
    """The loop goes round until it finds nothing to do: it waits for sessions with an older snapshot, as autovacuum has."""
    until = time.monotonic() + PATIENCE
    while services.carry_out():
        assert time.monotonic() < until, "It never ends."
        run("SELECT pg_sleep(0.02)")
        run("SELECT pg_stat_clear_snapshot()")  # inside one transaction the sessions are looked at once


def turn(times: int = 3) -> None:
    """The loop goes round a few times."""
    for _ in range(times):
        services.carry_out()


def rows_of(queue_id: UUID) -> dict[str, int]:
    """What the tables still hold of a queue, where they hold anything."""
    found = {}
    for table in (
        "queues_queue",
        "jobs_job_live",
        "jobs_job_dead",
        "jobs_schedule",
        "jobs_batch",
        "queues_minutestat",
        "queues_failuresummary",
    ):
        column = "id" if table == "queues_queue" else "queue_id"
        [[count]] = run(f"SELECT count(*) FROM {table} WHERE {column} = %s", [queue_id])
        if count:
            found[table] = count
    return found


__all__ = ["Full", "carry_out", "fill", "rows_of", "turn", "vanish"]
