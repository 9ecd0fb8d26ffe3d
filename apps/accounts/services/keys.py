"""Idempotency-Keys: the first request with one makes something, later ones are told what it made."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import OperationalError

from apps.accounts.engine.take_key import take_key
from apps.accounts.models import Idempotency
from apps.errors import IdempotencyInFlight, IdempotencyMismatch

PATIENCE_MS = 500  # for the first request to end, before the second is told to come again
COME_AGAIN = 1  # seconds


def take(*, scope_id: UUID, endpoint: str, key: str, body: Any, ids: list[UUID] | None = None) -> list[UUID] | None:
    """Take a key in the transaction that is open; answers what the first request made if that was another.

    `ids` are what this one is going to make, where it knows already; else say it with `note`.
    Raises IdempotencyMismatch for another body, IdempotencyInFlight while the first still runs.
    """
    asked = _hash(body)
    try:
        mine = take_key(
            scope_id=scope_id,
            endpoint=endpoint,
            key=key,
            request_hash=asked,
            ids=ids,
            hours=settings.IDEMPOTENCY_HOURS,
            patience_ms=PATIENCE_MS,
        )
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != "55P03":
            raise
        raise IdempotencyInFlight(retry_after=COME_AGAIN) from error
    if mine:
        return None
    first = Idempotency.objects.get(scope_id=scope_id, endpoint=endpoint, key=key)
    if bytes(first.request_hash) != asked:
        raise IdempotencyMismatch
    return list(first.ids or [])


def note(*, scope_id: UUID, endpoint: str, key: str, ids: Sequence[UUID]) -> None:
    """Write down what the first request made."""
    Idempotency.objects.filter(scope_id=scope_id, endpoint=endpoint, key=key).update(ids=list(ids))


def _hash(body: Any) -> bytes:
    """The same for bodies that mean the same: order of keys, white space, 1.0 for 1."""
    text = json.dumps(_canonical(body), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
