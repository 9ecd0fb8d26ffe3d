"""Where a job waits: queues, retry policies, and the counters that guard them."""

import math

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from uuid_utils.compat import uuid7

from apps.accounts.models import Project, Role, Standing, slug_rule
from apps.queues.states import TIMEOUT_MAX_MS, SummaryState

AGING_MAX = 10**8  # seconds; DESIGN: rank must fit a bigint
DEPTH_MAX = 1_000_000  # jobs; the depth cache counts no further
WEIGHT_MAX = 100


class Curve(models.TextChoices):
    FIXED = "fixed"  # base
    LINEAR = "linear"  # base · n
    EXPONENTIAL = "exponential"  # base · 2^(n−1)
    QUARTIC = "quartic"  # (n−1)⁴ + base
    INTERVALS = "intervals"  # a list: k delays are k retries


class RetryPolicy(models.Model):
    """How long a failed job waits and how often it is tried."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, models.DB_CASCADE, related_name="retry_policies")
    name = models.CharField(max_length=128)
    kind = models.CharField(max_length=16, choices=Curve.choices, default=Curve.EXPONENTIAL)
    max_attempts = models.SmallIntegerField(default=5, validators=[MinValueValidator(1), MaxValueValidator(1000)])
    max_losses = models.SmallIntegerField(default=3, validators=[MinValueValidator(1), MaxValueValidator(1000)])
    base_delay_ms = models.BigIntegerField(default=1000, validators=[MinValueValidator(0)])
    max_delay_ms = models.BigIntegerField(default=300_000, validators=[MinValueValidator(0)])
    jitter = models.BooleanField(default=True)
    intervals_ms = ArrayField(models.BigIntegerField(), null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "retry policies"
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="retry_policy_name_is_unique_in_its_project"),
            models.CheckConstraint(condition=Q(kind__in=Curve.values), name="retry_policy_kind_is_known"),
            models.CheckConstraint(
                condition=Q(max_attempts__range=(1, 1000), max_losses__range=(1, 1000)),
                name="retry_policy_budgets_are_positive",
            ),
            models.CheckConstraint(
                condition=Q(base_delay_ms__range=(0, 10**12), max_delay_ms__range=(0, 10**12)),
                name="retry_policy_delays_are_bounded",
            ),
        ]

    def __str__(self) -> str:
        return self.name


CAP_MAX = 1_000_000
RATE_MIN, RATE_MAX = 1e-6, 1e6  # one in twelve days; a million in a second
WINDOW_MAX = 1000  # outcomes
COOLDOWN_MAX = 86_400  # seconds
SHARE_MIN = 1e-3


def finite(value: float) -> None:
    """NaN is neither below nor above anything."""
    if not math.isfinite(value):
        raise ValidationError("Enter a number.")


class Queue(models.Model):
    """A named line of jobs with its own limits."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, models.DB_CASCADE, related_name="queues")
    name = models.CharField(max_length=128, validators=[slug_rule])
    retry_policy = models.ForeignKey(
        RetryPolicy, models.DO_NOTHING, null=True, blank=True
    )  # the database refuses to delete a policy in use
    created_at = models.DateTimeField(auto_now_add=True)

    # Set while a deleted queue empties itself (apps/jobs/services/vanish.py): it is paused, and nobody finds it by name.
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Whoever began before this may still know it as it was (vanish_due.sql).
    vanish_after = models.DateTimeField(null=True, blank=True, editable=False)

    paused_at = models.DateTimeField(null=True, blank=True)
    paused_until = models.DateTimeField(null=True, blank=True)
    paused_by = models.CharField(max_length=320, blank=True)
    pause_reason = models.CharField(max_length=255, blank=True)

    default_priority = models.SmallIntegerField(
        default=0, validators=[MinValueValidator(-1000), MaxValueValidator(1000)]
    )
    aging_seconds = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(AGING_MAX)]
    )  # NULL: strict priority; 0: first in, first out
    # Set while jobs are still ranked with another ageing or let through by another max_per_key (rerank_due.sql). Negative: nobody has looked yet;
    # else they are looked at once more when every transaction begun before this microsecond has ended.
    rerank_after = models.BigIntegerField(null=True, blank=True, editable=False)
    timeout_ms = models.BigIntegerField(
        default=300_000, validators=[MinValueValidator(1), MaxValueValidator(TIMEOUT_MAX_MS)]
    )
    retention_days = models.SmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(3650)]
    )
    dead_letter_retention_days = models.SmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(3650)]
    )
    allowed_types = ArrayField(models.CharField(max_length=128), null=True, blank=True)
    hide_payloads_below = models.CharField(max_length=16, choices=Role.choices, null=True, blank=True)

    max_concurrency = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(CAP_MAX)]
    )
    shards = models.SmallIntegerField(default=1, validators=[MinValueValidator(1), MaxValueValidator(64)])
    rate_per_second = models.FloatField(
        null=True, blank=True, validators=[finite, MinValueValidator(RATE_MIN), MaxValueValidator(RATE_MAX)]
    )
    burst = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(CAP_MAX)]
    )  # NULL: a second's worth, and at least one
    max_depth = models.BigIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(DEPTH_MAX)]
    )  # advisory: judged by the depth cache
    max_per_key = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(CAP_MAX)]
    )  # jobs of one concurrency key at once
    weight = models.SmallIntegerField(
        default=1, validators=[MinValueValidator(1), MaxValueValidator(WEIGHT_MAX)]
    )  # share of a worker's slots among the queues that have work
    # Opens when so many of the last `window` jobs that ran failed, or this share of a full window. NULL: no breaker.
    breaker_window = models.SmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(WINDOW_MAX)]
    )
    breaker_trip = models.SmallIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    breaker_share = models.FloatField(
        null=True, blank=True, validators=[finite, MinValueValidator(SHARE_MIN), MaxValueValidator(1)]
    )
    breaker_cooldown_seconds = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(COOLDOWN_MAX)]
    )
    breaker_since = models.DateTimeField(null=True, blank=True, editable=False)  # what started before counts no more

    objects = Standing["Queue"]()
    every = models.Manager["Queue"]()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"], condition=Q(deleted_at=None), name="queue_name_is_unique_in_its_project"
            ),
            models.CheckConstraint(condition=Q(default_priority__range=(-1000, 1000)), name="queue_priority_in_range"),
            models.CheckConstraint(
                condition=Q(aging_seconds=None) | Q(aging_seconds__range=(0, AGING_MAX)),
                name="queue_aging_in_range",
            ),
            models.CheckConstraint(condition=Q(shards__range=(1, 64)), name="queue_shards_in_range"),
            models.CheckConstraint(condition=Q(timeout_ms__range=(1, TIMEOUT_MAX_MS)), name="queue_timeout_in_range"),
            models.CheckConstraint(
                condition=Q(breaker_window=None)
                | Q(
                    Q(breaker_trip__isnull=False) | Q(breaker_share__isnull=False),
                    breaker_cooldown_seconds__isnull=False,
                    breaker_window__range=(1, WINDOW_MAX),
                    breaker_trip__range=(1, F("breaker_window")),
                    breaker_share__range=(SHARE_MIN, 1),
                    breaker_cooldown_seconds__range=(1, COOLDOWN_MAX),
                ),
                name="queue_breaker_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PausedType(models.Model):
    """A job type that no queue of a project hands out for now."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, models.DB_CASCADE, db_index=False, related_name="paused_types")
    type = models.CharField(max_length=128)
    paused_at = models.DateTimeField()
    paused_until = models.DateTimeField(null=True, blank=True)
    paused_by = models.CharField(max_length=320, blank=True)
    pause_reason = models.CharField(max_length=255, blank=True)

    class Meta:
        constraints = [
            # claim.sql looks a type up by it
            models.UniqueConstraint(fields=["project", "type"], name="paused_type_is_unique_in_its_project"),
        ]

    def __str__(self) -> str:
        return self.type


class BreakerState(models.TextChoices):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Gate(models.Model):
    """One shard of a queue's limits. Rows exist only while the queue has a cap, a rate or an open breaker."""

    pk = models.CompositePrimaryKey("queue_id", "shard")
    queue = models.ForeignKey(Queue, models.DB_CASCADE, related_name="gates")
    shard = models.SmallIntegerField()
    cap = models.IntegerField(null=True)
    in_flight = models.IntegerField(default=0)
    admitted = models.BigIntegerField(db_default=0)  # so many ever; what was found before it is charged is judged by it
    tokens = models.FloatField(default=0)
    refilled_at = models.DateTimeField(null=True)
    opens_after = models.BigIntegerField(null=True)  # transaction id: admits nothing until all older ended
    breaker = models.CharField(max_length=16, choices=BreakerState.choices, default="closed")
    reopens_at = models.DateTimeField(null=True)  # when an open breaker lets a probe through
    trips = models.SmallIntegerField(default=0)
    probe_job = models.UUIDField(null=True)
    probe_fence = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(in_flight__gte=0), name="gate_in_flight_not_negative"),
            models.CheckConstraint(
                condition=~Q(breaker="open") | Q(reopens_at__isnull=False),
                name="gate_open_breaker_reopens",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.queue_id}/{self.shard}: {self.in_flight}"


class MinuteStat(models.Model):
    """The rollup: what ended in one queue in one minute, from the ledger."""

    pk = models.CompositePrimaryKey("queue_id", "minute")
    queue = models.ForeignKey(Queue, models.DB_CASCADE, related_name="minutes")
    minute = models.DateTimeField()
    completed = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    dead_lettered = models.IntegerField(default=0)
    lost = models.IntegerField(default=0)
    wait_p50_ms = models.FloatField(null=True)
    wait_p95_ms = models.FloatField(null=True)
    wait_p99_ms = models.FloatField(null=True)
    run_p50_ms = models.FloatField(null=True)
    run_p95_ms = models.FloatField(null=True)
    run_p99_ms = models.FloatField(null=True)
    wait_histogram = ArrayField(models.IntegerField(), null=True)
    run_histogram = ArrayField(models.IntegerField(), null=True)

    def __str__(self) -> str:
        return f"{self.queue_id} {self.minute:%H:%M}"


class Depth(models.Model):
    """The cached depth of a queue, measured every two seconds."""

    queue = models.OneToOneField(Queue, models.DB_CASCADE, primary_key=True, related_name="depth")
    queued = models.BigIntegerField(default=0)
    running = models.BigIntegerField(default=0)
    oldest_at = models.DateTimeField(null=True)
    measured_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.queue_id}: {self.queued}"


class FailureSummary(models.Model):
    """What failed in a queue of late, by error class and top frame, and what a model says of it if one is set up."""

    queue = models.OneToOneField(Queue, models.DB_CASCADE, primary_key=True, related_name="failure_summary")
    window_hours = models.SmallIntegerField(default=24)
    failures = models.JSONField(default=list)
    looked_at = models.IntegerField(default=0)  # failures, the newest of the window
    fingerprint = models.CharField(max_length=32, blank=True)  # of the groups, whatever their counts
    computed_at = models.DateTimeField(null=True)
    summary = models.TextField(blank=True)
    model = models.CharField(max_length=128, blank=True)
    state = models.CharField(max_length=16, choices=SummaryState.choices, default=SummaryState.PENDING)
    told_of = models.CharField(max_length=32, blank=True)  # the fingerprint that `summary` was written for
    told_at = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(null=True)  # when a model was last asked, whether it answered or not

    class Meta:
        verbose_name_plural = "failure summaries"
        constraints = [
            models.CheckConstraint(condition=Q(state__in=SummaryState.values), name="failure_summary_state_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.queue_id}: {self.state}"
