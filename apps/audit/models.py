"""What happened: who did what (Entry), facts on their way (Outbox), the numbered log (Event, Head)."""

import uuid
from typing import Any, NoReturn

from django.contrib.postgres.fields import ArrayField
from django.db import models
from uuid_utils.compat import uuid7


class Entry(models.Model):
    """One privileged change. The database refuses UPDATE and DELETE (migration 0001)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField(auto_now_add=True)
    organization_id = models.UUIDField(null=True)  # no foreign key: the record outlives its subject
    user_id = models.UUIDField(null=True)
    token_id = models.UUIDField(null=True)
    actor = models.CharField(max_length=320)  # the address or the command, as it was then
    action = models.CharField(max_length=64)  # "queue.pause"
    target_type = models.CharField(max_length=64)
    target_id = models.CharField(max_length=64)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=128, blank=True)

    class Meta:
        verbose_name_plural = "entries"
        indexes = [
            models.Index(fields=["organization_id", "-id"], name="audit_entry_of_org"),
            models.Index(fields=["target_id", "-id"], name="audit_entry_of_target"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.target_type}:{self.target_id}"

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("An audit entry is never deleted.")


class Outbox(models.Model):
    """Facts of one statement about one queue, waiting for their numbers. Written by verbs, emptied by the relay."""

    id = models.BigAutoField(primary_key=True)  # identity with CACHE 1: order within a writer
    project_id = models.UUIDField()
    queue_id = models.UUIDField(null=True)
    kind = models.TextField()  # "job.started"
    state = models.TextField(null=True)  # the state entered, when the fact is about jobs
    at = models.DateTimeField()
    job_ids = ArrayField(models.UUIDField())
    attempts = ArrayField(models.SmallIntegerField(), null=True)  # one per job, or NULL
    errors = ArrayField(models.TextField(), null=True)  # one per job, capped, or NULL
    data = models.JSONField(null=True)  # what else a reader needs, once for the whole row

    class Meta:
        managed = True
        verbose_name_plural = "outbox"

    def __str__(self) -> str:
        return f"{self.kind} × {len(self.job_ids)}"


class Event(models.Model):
    """A numbered run of facts of one kind and queue: `first_seq`…`last_seq`, one number per job.

    Partitioned by day on `at`; the key is (project_id, last_seq, at). Django sees `last_seq`
    as the key only to have one: never look an event up by it alone.
    """

    pk = models.CompositePrimaryKey("project_id", "last_seq", "at")
    project_id = models.UUIDField()
    last_seq = models.BigIntegerField()
    first_seq = models.BigIntegerField()
    queue_id = models.UUIDField(null=True)
    kind = models.TextField()
    state = models.TextField(null=True)
    at = models.DateTimeField()
    job_ids = ArrayField(models.UUIDField())
    attempts = ArrayField(models.SmallIntegerField(), null=True)
    errors = ArrayField(models.TextField(), null=True)
    data = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"{self.first_seq}…{self.last_seq} {self.kind}"


class Head(models.Model):
    """The last number given out in a project's event log."""

    project_id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    seq = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.project_id} at {self.seq}"
