"""Who works: a worker is a stable name, a session is one boot of its process."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from apps.accounts.models import Organization


class Worker(models.Model):
    """A stable name for a place where jobs run."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    uid = models.CharField(max_length=128, unique=True)
    organization = models.ForeignKey(Organization, models.DB_CASCADE, null=True, blank=True)  # remote workers
    drained_at = models.DateTimeField(null=True, blank=True)  # an operator's wish; outlives sessions
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.uid


class Session(models.Model):
    """One boot. `lease_expires_at` lives here: a heartbeat is one small update per process."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    worker = models.ForeignKey(
        Worker, models.DO_NOTHING, related_name="sessions"
    )  # evidence: the database refuses to delete a worker that has any
    lease_expires_at = models.DateTimeField()
    lease_seconds = models.FloatField()
    heartbeat_at = models.DateTimeField()
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)  # said goodbye
    fenced_at = models.DateTimeField(null=True)  # a successor of the same uid started, or it lapsed
    draining = models.BooleanField(default=False)
    concurrency = models.IntegerField()
    hostname = models.CharField(max_length=255)
    pid = models.IntegerField()
    version = models.CharField(max_length=128, blank=True)
    queues = ArrayField(models.UUIDField(), default=list)
    types = ArrayField(models.CharField(max_length=128), default=list)
    pools = models.JSONField(default=dict)
    sample = models.JSONField(null=True)  # processor, memory, disk
    capabilities = models.JSONField(null=True)
    fenced_writes = models.BigIntegerField(default=0)  # reports that came too late
    reservation_id = models.UUIDField(null=True)  # it runs nothing but what is reserved so

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(concurrency__gte=1), name="session_has_slots"),
        ]
        indexes = [
            models.Index(
                fields=["worker"],
                condition=Q(ended_at=None, fenced_at=None),
                name="session_live_of_worker",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.worker_id} since {self.started_at:%F %T}"


class ReservationState(models.TextChoices):
    PENDING = "pending"
    BOUND = "bound"
    DRAINING = "draining"
    RELEASED = "released"


class Reservation(models.Model):
    """A worker and a workflow bound to each other, both ways."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.DB_CASCADE, related_name="reservations")
    worker = models.ForeignKey(Worker, models.DO_NOTHING, null=True, related_name="reservations")
    workflow_id = models.UUIDField()  # no foreign key: workers know nothing of jobs
    state = models.CharField(max_length=16, choices=ReservationState.choices, default="pending")
    generation = models.IntegerField(default=1)
    last_error = models.TextField(blank=True)
    opens_after = models.BigIntegerField(null=True)  # the transaction that closed its worker to others; NULL: not yet
    created_at = models.DateTimeField(auto_now_add=True)
    released_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["worker"],
                condition=~Q(state="released"),
                name="reservation_one_per_worker",
            ),
            models.UniqueConstraint(
                fields=["workflow_id"],
                condition=~Q(state="released"),
                name="reservation_one_per_workflow",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.worker_id} for {self.workflow_id}: {self.state}"
