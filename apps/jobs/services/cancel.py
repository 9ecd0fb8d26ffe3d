"""Cancel a job on someone's behalf."""

from uuid import UUID

from django.db import transaction

from apps.audit.record import Actor
from apps.errors import IllegalMove
from apps.jobs.engine import cancel as engine
from apps.jobs.engine.cancel import Cancelled
from apps.jobs.selectors import find
from apps.jobs.services.recorded import recorded


@transaction.atomic
def cancel(*, job_id: UUID, actor: Actor, force: bool = False) -> Cancelled:
    """Cancel a live job; raises NotFound, or IllegalMove naming the state of one that has ended."""
    done = engine.cancel(job_id=job_id, force=force)
    if done is None:
        raise IllegalMove(f"This job has ended: it is {find(job_id).state}.")
    after = {"state": done.state, "cancelling": done.cancelling, "force": force}
    recorded(job_id, actor, "job.cancel", after=after)
    return done
