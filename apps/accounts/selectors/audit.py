"""The audit trail of an organization: narrowed, and read to its end without ever holding it all."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.audit.models import Entry
from apps.audit.record import spoken

BATCH = 500  # rows in memory at once


def entries(
    organization_id: UUID,
    *,
    actor: str | None = None,
    action: str | None = None,
    target: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[Entry]:
    """What was done in an organization; `action` is a whole one, queue.pause, or what it was done to, queue."""
    rows = Entry.objects.filter(organization_id=organization_id)
    if actor is not None:
        rows = rows.filter(actor__iexact=actor)
    if action is not None:
        rows = rows.filter(Q(action=action) | Q(action__startswith=f"{action}."))
    if target is not None:
        rows = rows.filter(target_id=target)
    # Ids begin with their time, so that only those that may fit are read.
    if since is not None:
        rows = rows.filter(at__gte=since, id__gte=_first(since))
    if until is not None:
        rows = rows.filter(at__lt=until, id__lt=_first(until, milliseconds=SKEW))
    return rows


SKEW = 60_000  # milliseconds between the clock that makes ids and the moment that is written down


def _first(at: datetime, milliseconds: int = -SKEW) -> UUID:
    return UUID(int=max(int(at.timestamp() * 1000) + milliseconds, 0) << 80)


def walk(rows: QuerySet[Entry]) -> Iterator[Entry]:
    """All of them, newest first, a batch at a time; what is written meanwhile is left out."""
    some = list(rows.order_by("-id")[:BATCH])
    while some:
        yield from some
        some = list(rows.filter(id__lt=some[-1].pk).order_by("-id")[:BATCH])


def facts(entry: Entry) -> dict[str, Any]:
    """An entry as it goes out."""
    return {
        "id": str(entry.pk),
        "at": spoken(entry.at),
        "actor": entry.actor,
        "user_id": str(entry.user_id) if entry.user_id else None,
        "token_id": str(entry.token_id) if entry.token_id else None,
        "action": entry.action,
        "target_type": entry.target_type,
        "target_id": entry.target_id,
        "before": entry.before,
        "after": entry.after,
        "address": entry.address,
        "request_id": entry.request_id,
    }
