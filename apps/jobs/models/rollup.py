"""How far the ledger has been summed up."""

from django.db import models
from django.db.models import Q


class Rollup(models.Model):
    """How far the ledger has been summed up for good (queues_minutestat); one row."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    settled_at = models.DateTimeField()  # nothing earlier than this will still come to light
    rolled_at = models.DateTimeField()  # the last turn

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="rollup_is_one_row")]

    def __str__(self) -> str:
        return f"up to {self.settled_at:%F %T}"
