"""What is to be done: jobs, their ledger, and what groups them.

The tables of Job, Attempt and JobLog are partitioned; migration 0001 makes them by hand
and partition.sql cuts their days. No table here has a foreign key to a hot table, and none
of the hot tables has one: they hold plain ids.
"""

from typing import Any, NoReturn

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from apps.accounts.models import Project
from apps.jobs.states import JobState, OnParentFailure, Outcome, Reason
from apps.queues.models import Queue, RetryPolicy

PRIORITY = (MinValueValidator(-1000), MaxValueValidator(1000))


class Job(models.Model):
    """One unit of work, on whichever shelf it stands: live, dead letter, or the day it ended.

    Read only: a stale instance must never move a row back. Verbs in engine/ write.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    queue = models.ForeignKey(Queue, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    created_at = models.DateTimeField()
    run_at = models.DateTimeField()
    rank = models.BigIntegerField()  # lower runs first: due_micros − priority × aging
    ranked_aging = models.BigIntegerField(null=True)  # microseconds a priority level is worth; NULL: strict
    batch_id = models.UUIDField(null=True)
    workflow_id = models.UUIDField(null=True)
    retry_policy = models.ForeignKey(
        RetryPolicy, models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    schedule_id = models.UUIDField(null=True)
    submitted_by = models.UUIDField(null=True)  # a user or a token: UUIDv7 ids never collide
    required_worker = models.UUIDField(null=True)
    assigned_worker = models.UUIDField(null=True)
    target = models.UUIDField(null=True)  # whom it waits for: see apps/jobs/engine/aim.sql; NULL: any worker
    timeout_ms = models.BigIntegerField(null=True)
    priority = models.SmallIntegerField(default=0)
    max_attempts = models.SmallIntegerField()
    max_losses = models.SmallIntegerField()
    max_snoozes = models.SmallIntegerField()
    generation = models.SmallIntegerField(default=1)
    fence = models.BigIntegerField(default=0)
    session_id = models.UUIDField(null=True)
    started_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    shelved_on = models.DateField(null=True)
    pending = models.IntegerField(default=0)
    reservation_generation = models.IntegerField(null=True)
    attempt = models.SmallIntegerField(default=0)
    losses = models.SmallIntegerField(default=0)
    snoozes = models.SmallIntegerField(default=0)
    releases = models.SmallIntegerField(default=0)
    shard = models.SmallIntegerField(null=True)  # NULL: never charged at a gate
    has_dependents = models.BooleanField(default=False)
    requires_approval = models.BooleanField(default=False)
    key_full = models.BooleanField(default=False)
    state = models.TextField(choices=JobState.choices)
    resume_state = models.TextField(null=True, choices=JobState.choices)
    on_parent_failure = models.TextField(null=True, choices=OnParentFailure.choices)
    placement = models.TextField(null=True)
    type = models.TextField()
    unique_key = models.TextField(null=True)
    concurrency_key = models.TextField(null=True)
    request_id = models.TextField(null=True)  # the request that submitted it, for its log lines
    reason = models.TextField(null=True, choices=Reason.choices)
    payload = models.JSONField()
    labels = models.JSONField(null=True)
    result = models.JSONField(null=True)
    approval = models.JSONField(null=True)  # asked_at where its handler asked; then at, by, note and decision

    is_new = True  # False on what submit answers when a live job already held the unique key

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.type} {self.id}"

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("Jobs are changed by the verbs in apps/jobs/engine.")

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("Jobs are changed by the verbs in apps/jobs/engine.")


class Attempt(models.Model):
    """The ledger: one row per attempt, written once when the attempt ends, by whoever ends it."""

    id = models.UUIDField(primary_key=True, editable=False)
    job_id = models.UUIDField()
    queue_id = models.UUIDField()
    session_id = models.UUIDField(null=True)
    worker_id = models.UUIDField(null=True)
    fence = models.BigIntegerField()
    run_at = models.DateTimeField()  # when it became due: the wait is started_at − run_at
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    generation = models.SmallIntegerField()
    attempt = models.SmallIntegerField()
    outcome = models.TextField(choices=Outcome.choices)
    error_class = models.TextField(null=True)
    error_message = models.TextField(null=True)
    traceback = models.TextField(null=True)
    runtime = models.JSONField(null=True)  # exit status, signal, peak memory, processor time

    class Meta:
        ordering = ("-finished_at",)

    def __str__(self) -> str:
        return f"{self.job_id} attempt {self.attempt}: {self.outcome}"


class JobLog(models.Model):
    """One line a handler wrote during one attempt."""

    pk = models.CompositePrimaryKey("job_id", "fence", "line", "at")
    job_id = models.UUIDField()
    fence = models.BigIntegerField()
    line = models.IntegerField()
    at = models.DateTimeField()
    attempt = models.SmallIntegerField()
    level = models.TextField()
    message = models.TextField()

    class Meta:
        db_table = "jobs_log"

    def __str__(self) -> str:
        return self.message


class Progress(models.Model):
    """How far an attempt said it is; not on the job row, which it would rewrite at each heartbeat."""

    job_id = models.UUIDField(primary_key=True)
    fence = models.BigIntegerField()
    attempt = models.PositiveSmallIntegerField()
    stage = models.CharField(max_length=128, blank=True)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(null=True)
    note = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "progress"

    def __str__(self) -> str:
        return f"{self.done} of {self.total}"


class Dependency(models.Model):
    """The child waits for the parent until the edge is settled."""

    pk = models.CompositePrimaryKey("parent_id", "child_id")
    parent_id = models.UUIDField()
    child_id = models.UUIDField()
    settled_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "dependencies"
        indexes = [models.Index(fields=["child_id"], name="dependency_of_child")]

    def __str__(self) -> str:
        return f"{self.child_id} waits for {self.parent_id}"


class Unwoken(models.Model):
    """A parent that ended, and whose children were too many for the transaction of its end."""

    parent_id = models.UUIDField(primary_key=True)

    class Meta:
        verbose_name_plural = "unwoken"

    def __str__(self) -> str:
        return str(self.parent_id)


class Publication(models.Model):
    """What a stage of a workflow published, once."""

    pk = models.CompositePrimaryKey("workflow_id", "key")
    workflow_id = models.UUIDField()
    key = models.CharField(max_length=64)  # SHA-256 of type, a zero byte, canonical payload
    job_id = models.UUIDField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.key


class Workflow(models.Model):
    """A group of jobs with dependencies that operators see and steer as one thing."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, models.DB_CASCADE, related_name="workflows")
    name = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    generation = models.IntegerField(default=1)
    priority = models.SmallIntegerField(default=0, validators=PRIORITY)
    paused_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)
    required_worker = models.UUIDField(null=True)
    assigned_worker = models.UUIDField(null=True)
    dedicated = models.BooleanField(default=False)
    submitted_by = models.UUIDField(null=True)
    labels = models.JSONField(null=True)

    class Meta:
        indexes = [models.Index(fields=["project", "id"], name="workflow_of_project")]  # lists, newest first

    def __str__(self) -> str:
        return self.name or str(self.id)


class Step(models.Model):
    """What a workflow calls one of its jobs."""

    pk = models.CompositePrimaryKey("workflow_id", "name")
    workflow_id = models.UUIDField()
    name = models.CharField(max_length=128)
    job_id = models.UUIDField()

    def __str__(self) -> str:
        return self.name


class Batch(models.Model):
    """Jobs submitted in one call, with joint progress."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, models.DB_CASCADE, related_name="batches")
    queue = models.ForeignKey(Queue, models.DB_CASCADE, null=True, related_name="batches")
    size = models.IntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    on_complete = models.JSONField(null=True)  # the job to submit when all are final
    completed_at = models.DateTimeField(null=True)
    on_complete_job = models.UUIDField(null=True)
    submitted_by = models.UUIDField(null=True)

    class Meta:
        verbose_name_plural = "batches"
        indexes = [
            models.Index(
                fields=["id"], condition=Q(completed_at=None, on_complete__isnull=False), name="batch_to_complete"
            ),  # complete_due.sql
        ]

    def __str__(self) -> str:
        return str(self.id)
