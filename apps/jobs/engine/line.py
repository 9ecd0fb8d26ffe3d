"""Read what an operator sees of a project: what runs, and what comes next."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.jobs.engine.list_jobs import Listed
from apps.jobs.states import JobState
from apps.sql import Statement

FAR = (
    10_000  # waiting for their time, of all tenants: the soonest are looked through; of workflows as many of the newest
)
STEPS = 500  # types looked at in a queue
STANDING = (  # which job stands for its workflow, and who comes first
    JobState.RUNNING,
    JobState.QUEUED,
    JobState.RETRY_WAIT,
    JobState.AWAITING_APPROVAL,
    JobState.SCHEDULED,
    JobState.PAUSED,
    JobState.BLOCKED,
)


@dataclass(frozen=True, slots=True)
class InLine(Listed):
    """A job of its own, or the one that stands for its workflow. Workers are named by their uid."""

    position: int | None  # among the waiting jobs of its queue
    workflow_name: str | None
    runs_on: str | None
    paused: bool  # itself, its workflow, its type or its queue
    waiting_seconds: float | None  # since it could have started

    @property
    def worker(self) -> str | None:
        """Who runs it, or is to."""
        return self.runs_on or self.assigned_worker or self.required_worker

    @property
    def retry_at(self) -> datetime | None:
        return self.run_at if self.state == JobState.RETRY_WAIT else None

    @property
    def can_retry(self) -> bool:
        """Whether it waits for a time that an operator may cut short."""
        return self.state in (JobState.RETRY_WAIT, JobState.SCHEDULED)


_line = Statement.beside(__file__, InLine)


def line(*, project_id: UUID, queue_ids: list[UUID], reach: int) -> list[InLine]:
    """All that runs in these queues of a project; of what waits, up to `reach` of each way of waiting, first come first."""
    standing = [str(state) for state in STANDING]
    return _line(project_id=project_id, queue_ids=queue_ids, reach=reach, far=FAR, steps=STEPS, standing=standing)
