"""End attempts: success, failure, snooze, release; in batches, and only by the holder of the fence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from django.conf import settings
from uuid_utils.compat import uuid7

from apps.jobs.engine.enqueue import NewJob, follow_steps
from apps.jobs.engine.join_workflows import Joined, join_steps
from apps.jobs.engine.publish import Stage, publish_steps
from apps.jobs.engine.wake_dependents import wake
from apps.jobs.states import FINAL, JobState
from apps.sql import Statement, Steps, Verb

# How far back an unknown outcome is looked for: a report is retried for as long as its lease may hold.
MEMORY = timedelta(days=1)
LONGEST_MS = 10**12  # a handler may ask for any delay; one the calendar has no day for would fail its whole batch


class Ended(NamedTuple):
    """How one attempt ended, as its holder saw it.

    `result` and `runtime` are JSON texts. `delay_ms` overrides the retry curve (None leaves it).
    `session_id` is the session that ran it: the reaper reports on behalf of silent ones.
    """

    job_id: UUID
    fence: int
    session_id: UUID
    outcome: str
    result: str | None = None
    delay_ms: int | None = None
    error_class: str | None = None
    error_message: str | None = None
    traceback: str | None = None
    runtime: str | None = None
    follow: tuple[NewJob, ...] = ()  # enqueued with a success
    request_id: str | None = None  # … on behalf of this request
    workflow_id: UUID | None = None  # … in this workflow


class Reported(NamedTuple):
    """What became of it. `deferred` is internal: it must be sent again in a transaction."""

    job_id: UUID
    fence: int
    outcome: str
    state: str
    has_dependents: bool
    deferred: bool = False
    run_at: datetime | None = None
    woke: frozenset[UUID] = frozenset()  # queues in which this end, or one of the same batch, made children claimable


@dataclass(frozen=True, slots=True)
class Missing:
    """A report that moved nothing: `applied` if an earlier try of the same report had done so, else fenced."""

    job_id: UUID
    fence: int
    applied: bool


_report = Statement.beside(__file__, Reported)
_missing = Statement.beside(__file__, Missing, "report_missing")


def report_steps(*, ended: Sequence[Ended]) -> Steps[list[Reported]]:
    """End attempts, enqueue what follows a success and wake the dependents of jobs that ended, in one transaction.

    Answers what moved; whoever is missing from the answer is fenced or was applied before. An attempt that is named
    twice ends once, as it was named first.
    """
    ended = _once(ended)
    workflows = {one.workflow_id for one in ended if one.follow and one.workflow_id}
    joined = (yield from join_steps(workflows)) if workflows else {}
    rows = yield from _report.ask(**_columns(ended), alone=False)
    done = {(row.job_id, row.fence) for row in rows if row.state == JobState.COMPLETED}
    yield from _follow([one for one in ended if one.follow and (one.job_id, one.fence) in done], joined)
    woke = {row.job_id: row.state for row in rows if row.has_dependents and row.state in FINAL}
    if not woke:
        return rows
    children = yield from wake(ended=woke)
    queues = frozenset(child.queue_id for child in children if child.state == JobState.QUEUED)
    return [row._replace(woke=queues) if row.job_id in woke else row for row in rows]


def _follow(ended: Sequence[Ended], joined: Mapping[UUID, Joined]) -> Steps[None]:
    """Make what successes bring along; in a workflow, what it has not had before."""
    stages = []
    for one in ended:
        if one.workflow_id and one.workflow_id in joined:
            stages.append(Stage(one.job_id, one.workflow_id, one.follow, one.request_id))
        else:
            yield from follow_steps(one.follow, request_id=one.request_id)
    if stages:
        paused = {key for key, workflow in joined.items() if workflow.is_paused}
        reserved = any(workflow.is_reserved for workflow in joined.values())
        yield from publish_steps(stages, paused=paused, reserved=reserved)


report = Verb(report_steps)


async def report_on(connection: psycopg.AsyncConnection[Any], ended: Sequence[Ended]) -> list[Reported]:
    """The same from a worker: one statement, one commit, and a transaction only for jobs with dependents or followers."""
    ended = _once(ended)
    plain = [one for one in ended if not one.follow]
    rows = await _report.on(connection, **_columns(plain), alone=True) if plain else []
    late = {row.job_id for row in rows if row.deferred}
    if not late and len(plain) == len(ended):
        return rows
    again = await report.on(connection, ended=[one for one in ended if one.follow or one.job_id in late])
    return [row for row in rows if not row.deferred] + again


def missing_steps(*, ended: Sequence[Ended], session_id: UUID) -> Steps[list[Missing]]:
    """Tell reports that an earlier try had applied from fenced ones, and count the fenced on the session."""
    return (
        yield from _missing.ask(
            ids=[one.job_id for one in ended],
            fences=[one.fence for one in ended],
            outcomes=[one.outcome for one in ended],
            session_id=session_id,
            since=datetime.now(UTC) - MEMORY,
        )
    )


report_missing = Verb(missing_steps)


def _once(ended: Sequence[Ended]) -> list[Ended]:
    """Each attempt, as it was named first, in id order so that two batches lock alike."""
    once = {(one.job_id.int, one.fence): one for one in reversed(ended)}
    return [once[key] for key in sorted(once)]  # by number: a UUID compares in Python, and slowly


def _columns(ordered: Sequence[Ended]) -> dict[str, object]:
    """Turn ends into columns; one without values is sent as NULL."""

    def column(name: str) -> list[Any] | None:
        values = [getattr(one, name) for one in ordered]
        return values if any(value is not None for value in values) else None

    intervals = settings.JOB_RETRY_INTERVALS
    return {
        "ids": " ".join([one.job_id.hex for one in ordered]),
        "fences": " ".join([str(one.fence) for one in ordered]),
        "sessions": " ".join([one.session_id.hex for one in ordered]),
        "outcomes": " ".join([one.outcome for one in ordered]),
        "ledger_ids": " ".join([uuid7().hex for _ in ordered]),
        "results": column("result"),
        "delays_ms": [None if ms is None else min(max(ms, 0), LONGEST_MS) for ms in column("delay_ms") or ()],
        "error_classes": column("error_class"),
        "error_messages": column("error_message"),
        "tracebacks": column("traceback"),
        "runtimes": column("runtime"),
        "grace_seconds": settings.DEADLINE_GRACE_SECONDS,
        "intervals_ms": [seconds * 1000 for seconds in intervals] if intervals else None,
    }
