"""Cut the days of finished jobs, of the ledger and of the logs ahead of time."""

from apps.audit.engine.days import AHEAD, BACK, Daily, cut, days_left
from apps.jobs.states import FAILED

JOB = Daily(
    name="jobs_job",
    column="shelved_on",
    is_list=True,
    unique={"id": "(id)"},
    checks={"job_day_has_ended": "state IN ('completed', 'cancelled') AND finished_at IS NOT NULL"},
    indexes={
        "queue": "(queue_id, id)",
        "workflow": "(workflow_id, id) WHERE workflow_id IS NOT NULL",
        "batch": "(batch_id, id) WHERE batch_id IS NOT NULL",
    },
)
ATTEMPT = Daily(
    name="jobs_attempt",
    column="finished_at",
    # What nobody has summed up yet is read from end to end, by each look of the breakers' loop.
    indexes={
        "job": "(job_id, fence)",
        "finished": "USING brin (finished_at) WITH (autosummarize = on)",
        # summarize.sql; an attempt that succeeds has no entry
        "failed": f"(queue_id, finished_at) WHERE outcome IN ({', '.join(f"'{one.value}'" for one in FAILED)})",
    },
)
LOG = Daily(name="jobs_log", column="at", indexes={"job": "(job_id, fence, line)"})
TABLES = (JOB, ATTEMPT, LOG)


def partition(*, ahead: int = AHEAD, back: int = BACK) -> list[str]:
    """Make the missing partitions of everything jobs keeps by day."""
    return [name for table in TABLES for name in cut(table, ahead=ahead, back=back)]


def left() -> int:
    """How many days ahead are cut in every table."""
    return days_left(*TABLES)
