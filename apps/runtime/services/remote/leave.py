"""A remote worker leaves, or never got what it claimed: its jobs go back without having spent an attempt."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.jobs.engine.claim_in_turn import claim_turn
from apps.jobs.engine.report import Ended
from apps.jobs.states import Outcome
from apps.runtime.selectors.remote import running
from apps.runtime.services.remote.report import end
from apps.workers.engine.goodbye import goodbye
from apps.workers.models import Session


@transaction.atomic
def leave(*, session: Session) -> int:
    """End a session and hand back what it runs; answers how many jobs. One that is over may say it again."""
    claim_turn(session_id=session.pk)  # a claim that is under way ends first, and what it took is seen here
    goodbye(session_id=session.pk)
    return _release(session, running(session))


@transaction.atomic
def hand_back(*, session_id: UUID, jobs: Collection[tuple[UUID, int]]) -> int:
    """Hand back jobs whose claim nobody was there to hear of."""
    session = Session.objects.get(pk=session_id)
    held = running(session, [job_id for job_id, _ in jobs])
    return _release(session, [job for job in held if (job.pk, job.fence) in jobs])


def _release(session: Session, held: Sequence[Any]) -> int:
    ended = [
        Ended(job_id=job.pk, fence=job.fence, session_id=session.pk, outcome=Outcome.RELEASED.value) for job in held
    ]
    return len(end(ended, {job.pk: (job.queue_id, job.concurrency_key) for job in held}))
