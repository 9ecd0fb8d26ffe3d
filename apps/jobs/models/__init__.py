"""What is to be done: jobs, their ledger, what groups them (jobs), how far it is summed up
(rollup), and what makes them recur (schedules)."""

from apps.jobs.models.jobs import (
    PRIORITY,
    Attempt,
    Batch,
    Dependency,
    Job,
    JobLog,
    Progress,
    Publication,
    Step,
    Unwoken,
    Workflow,
)
from apps.jobs.models.rollup import Rollup
from apps.jobs.models.schedules import Schedule, Tick

__all__ = [
    "PRIORITY",
    "Attempt",
    "Batch",
    "Dependency",
    "Job",
    "JobLog",
    "Progress",
    "Publication",
    "Rollup",
    "Schedule",
    "Step",
    "Tick",
    "Unwoken",
    "Workflow",
]
