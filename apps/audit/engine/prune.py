"""Events older than their retention go, a day at a time."""

from django.conf import settings

from apps.audit.engine.days import drop, older
from apps.audit.engine.partition import EVENT


def prune() -> list[str]:
    """Drop the days of the event log that are past their retention; answers their partitions."""
    gone = older(EVENT, days=settings.RETENTION_EVENTS_DAYS)
    for part in gone:
        drop(EVENT, part)
    return [part.name for part in gone]
