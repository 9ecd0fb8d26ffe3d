"""A remote worker says that it lives, how far its jobs are and what they said."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import transaction

from apps.errors import SessionOver
from apps.jobs.engine.heartbeat import Beat, Told, heartbeat
from apps.jobs.engine.log import Line, log_held
from apps.workers.models import Session


@transaction.atomic
def beat(
    *,
    session: Session,
    held: Mapping[UUID, int],
    told: Sequence[Told] = (),
    lines: Sequence[Line] = (),
    draining: bool = False,
    sample: str | None = None,
) -> Beat:
    """Extend the lease, and hear which jobs are to stop. Raises SessionOver where there is none to extend."""
    answer = heartbeat(session_id=session.pk, held=held, told=told, draining=draining, sample=sample)
    if not answer.alive:
        raise SessionOver
    if lines:
        log_held(session_id=session.pk, lines=lines)
    return answer
