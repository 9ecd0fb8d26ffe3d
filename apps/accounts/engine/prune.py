"""Idempotency keys are kept for a day."""

from django.conf import settings

from apps.sql import Statement

LIMIT = 10_000

_prune = Statement.beside(__file__, int)


def prune() -> int:
    """Forget keys past their time, up to LIMIT of them; answers how many."""
    return _prune(hours=settings.IDEMPOTENCY_HOURS, limit=LIMIT)[0]
