"""A handler's own writes count only while its job is still its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.conf import settings
from django.db import transaction

from apps.errors import LeaseLost
from apps.sql import Statement

_hold = Statement.beside(__file__, lambda job_id, bound: job_id)


@contextmanager
def fenced(*, job_id: UUID, fence: int, session_id: UUID, generation: int) -> Iterator[None]:
    """A transaction on Django's connection that only the owner of a running job gets. Raises LeaseLost."""
    with transaction.atomic():
        held = _hold(
            job_id=job_id,
            fence=fence,
            session_id=session_id,
            generation=generation,
            grace_seconds=settings.DEADLINE_GRACE_SECONDS,
        )
        if not held:
            raise LeaseLost
        yield
