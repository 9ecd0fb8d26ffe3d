"""Forget the workers of a deleted organization, in batches, each its own transaction."""

from uuid import UUID

from apps.sql import Statement

LIMIT = 1000

_reservations = Statement.beside(__file__, int, "vanish_reservations")
_sessions = Statement.beside(__file__, int, "vanish_sessions")
_workers = Statement.beside(__file__, int, "vanish_workers")


def vanish_reservations(*, organization_id: UUID, limit: int = LIMIT) -> int:
    """End and forget some reservations; answers how many."""
    return _reservations(organization_id=organization_id, limit=limit)[0]


def vanish_sessions(*, organization_id: UUID, limit: int = LIMIT) -> int:
    """Forget some sessions of its workers; answers how many."""
    return _sessions(organization_id=organization_id, limit=limit)[0]


def vanish_workers(*, organization_id: UUID, limit: int = LIMIT) -> int:
    """Forget some of its workers, those of which no session is left; answers how many."""
    return _workers(organization_id=organization_id, limit=limit)[0]
