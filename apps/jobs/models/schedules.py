"""What makes jobs recur: schedules, and the ledger of their ticks."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from apps.jobs.models.jobs import PRIORITY
from apps.jobs.states import CatchUp, Overlap, TickOutcome
from apps.queues.models import Queue

CATCHUP_MAX = 1000
SECONDS_MAX = 366 * 86_400  # of jitter, and until a deadline


class Schedule(models.Model):
    """A cron entry of a queue: at each of its ticks a job is made."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    queue = models.ForeignKey(Queue, models.DB_CASCADE, related_name="schedules")
    name = models.CharField(max_length=128)
    cron_expr = models.CharField(max_length=255)
    timezone = models.CharField(max_length=64, default="UTC")
    job_type = models.CharField(max_length=128)
    payload = models.JSONField(default=dict, blank=True)
    priority = models.SmallIntegerField(null=True, blank=True, validators=PRIORITY)  # NULL: the queue's
    overlap_policy = models.CharField(max_length=16, choices=Overlap.choices, default=Overlap.SKIP)
    catchup_policy = models.CharField(max_length=16, choices=CatchUp.choices, default=CatchUp.SKIP)
    catchup_max = models.SmallIntegerField(
        default=10, validators=[MinValueValidator(1), MaxValueValidator(CATCHUP_MAX)]
    )
    jitter_seconds = models.IntegerField(
        default=0, validators=[MinValueValidator(0), MaxValueValidator(SECONDS_MAX)]
    )  # a job is due up to so much after its tick
    deadline_seconds = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(SECONDS_MAX)]
    )  # after its tick a job must have succeeded, or an event says that it has not
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_by = models.CharField(max_length=320, blank=True)
    pause_reason = models.CharField(max_length=255, blank=True)
    next_run_at = models.DateTimeField(null=True, blank=True)  # the first tick nobody has seen to; NULL: none comes
    last_job_id = models.UUIDField(null=True, blank=True)
    trouble = models.CharField(max_length=255, blank=True)  # why it fires no more, until it is changed or resumed
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "name"], name="schedule_name_is_unique_in_its_queue"),
            models.CheckConstraint(
                condition=Q(overlap_policy__in=Overlap.values, catchup_policy__in=CatchUp.values),
                name="schedule_policies_are_known",
            ),
        ]
        indexes = [models.Index(fields=["next_run_at"], condition=Q(paused_at=None), name="schedule_due")]  # cron.sql

    def __str__(self) -> str:
        return self.name


class Tick(models.Model):
    """One expected firing of a schedule: it becomes a job once, however many schedulers run."""

    pk = models.CompositePrimaryKey("schedule_id", "scheduled_for")
    schedule = models.ForeignKey(Schedule, models.DB_CASCADE, db_index=False, related_name="ticks")
    scheduled_for = models.DateTimeField()
    fired_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=16, choices=TickOutcome.choices)
    why = models.CharField(max_length=255, blank=True)
    job_id = models.UUIDField(null=True)
    deadline_at = models.DateTimeField(null=True)
    late = models.BooleanField(null=True)  # had no job succeeded by the deadline; NULL: nobody has looked yet

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(outcome__in=TickOutcome.values), name="tick_outcome_is_known"),
        ]
        indexes = [
            models.Index(
                fields=["deadline_at"], condition=Q(late=None, deadline_at__isnull=False), name="tick_deadline"
            ),  # late.sql
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id} at {self.scheduled_for:%F %T}"
