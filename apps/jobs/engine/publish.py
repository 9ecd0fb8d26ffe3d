"""Make what the stages of workflows publish with their success, each once in its workflow."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from apps.jobs.engine.aim import aim_steps
from apps.jobs.engine.enqueue import SEPARATOR, NewJob, follow_steps
from apps.jobs.engine.pause import pause_steps
from apps.sql import Statement, Steps

DAY = timedelta(days=1)  # around midnight this clock and the database's may name different days


@dataclass(frozen=True, slots=True)
class Stage:
    """A job of a workflow that has just completed, and what it publishes."""

    job_id: UUID
    workflow_id: UUID
    jobs: Sequence[NewJob]
    request_id: str | None


@dataclass(frozen=True, slots=True)
class _Taken:
    job_id: UUID
    priority: int


_publish = Statement.beside(__file__, _Taken)
_inherit = Statement.beside(__file__, lambda *row: row, "publish_inherit")


def publish_steps(stages: Sequence[Stage], *, paused: Collection[UUID], reserved: bool = False) -> Steps[None]:
    """Enqueue what these stages publish, but for what their workflow has published before, whoever did.

    The caller holds the workflows (join_workflows.sql), and `paused` are those that are; `reserved` is any. What is made inherits workflow,
    generation, worker and, unless it says another, priority.
    """
    days = _days()
    rows: list[_Taken] = yield from _publish.ask(**_columns(stages), **days)
    priorities = {row.job_id: row.priority for row in rows}
    made: dict[UUID, UUID] = {}
    for stage in stages:
        new = [_of(job, stage, priorities) for job in stage.jobs if job.id in priorities]
        if new:
            placed = yield from follow_steps(new, request_id=stage.request_id)
            made |= {one.job_id: stage.job_id for one in placed}
    if made:
        loose = {job.id for stage in stages for job in stage.jobs if job.anywhere}
        anywhere = [one in loose for one in made]
        yield from _bound(list(made), list(made.values()), anywhere, reserved=reserved, **days)
    held = [job.id for stage in stages if stage.workflow_id in paused for job in stage.jobs if job.id in made]
    if held:
        yield from pause_steps(ids=held)


def _bound(ids: list[UUID], parents: list[UUID], anywhere: list[bool], *, reserved: bool, **days: date) -> Steps[None]:
    """Let what was made go where its stage went; what says that it may run anywhere does not."""
    rows: list[tuple[UUID, str | None]] = yield from _inherit.ask(ids=ids, parents=parents, anywhere=anywhere, **days)
    if reserved or any(placement for _, placement in rows):
        yield from aim_steps(ids=ids)


def _of(job: NewJob, stage: Stage, priorities: Mapping[UUID, int]) -> NewJob:
    job.workflow_id = stage.workflow_id
    if job.priority is None:
        job.priority = priorities[job.id]
    return job


def _columns(stages: Sequence[Stage]) -> dict[str, object]:
    pairs = [(stage, job) for stage in stages for job in stage.jobs]
    return {
        "workflows": [stage.workflow_id for stage, _ in pairs],
        "parents": [stage.job_id for stage, _ in pairs],
        "ids": [job.id for _, job in pairs],
        "types": [job.type for _, job in pairs],
        "payloads": SEPARATOR.join([job.payload for _, job in pairs]),
    }


def _days() -> dict[str, date]:
    """The shelves that somebody who has just ended can stand on."""
    today = datetime.now(UTC).date()
    return {"since": today - DAY, "until": today + DAY}
