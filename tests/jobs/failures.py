"""Jobs that fail, and the loop that summarizes how."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from apps.jobs.loops import summarize_failures
from apps.queues.models import FailureSummary, Queue
from apps.workers.models import Session
from tests import acts
from tests.jobs.looks import run

TRACE = """Traceback (most recent call last):
  File "/srv/fencepost/apps/runtime/executor/run.py", line 40, in call
    return handler(ctx, payload)
  File "/srv/app/shop/mail/{file}", line {line}, in {name}
    raise ConnectionError(host)
ConnectionError: no route
"""


def trace(file: str = "send.py", line: int = 12, name: str = "deliver") -> str:
    return TRACE.format(file=file, line=line, name=name)


def fail(session: Session, queue: Queue, *, outcome: str = "permanent_error", payload: str = "{}", **told: Any) -> UUID:
    """Make a job of the queue and end its attempt like this."""
    job_id = acts.enqueue(queue, priority=1000, payload=payload)
    taken = acts.take_one(session, queue)
    assert taken.job_id == job_id
    acts.finish(session, taken, outcome=outcome, **told)
    return job_id


def summarized(queue: Queue) -> Any:
    """The summary after the next turn of the loop; None where there is none."""
    FailureSummary.objects.update(computed_at=F("computed_at") - timedelta(minutes=5))
    summarize_failures()
    return FailureSummary.objects.filter(queue=queue).first()


def let_age(job_id: UUID, *, hours: float) -> None:
    """What there is of a job in the ledger goes back by so many hours, on a day that is cut."""
    run(
        "UPDATE jobs_attempt SET started_at = started_at - %(ago)s, finished_at = finished_at - %(ago)s WHERE job_id = %(job)s",
        {"ago": timedelta(hours=hours), "job": job_id},
    )
