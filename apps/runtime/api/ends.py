"""Reports of remote workers in the engine's terms."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.errors import BadInput
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.engine.report import Ended
from apps.jobs.states import Outcome
from apps.runtime.executor.follow import BYTES_MAX, follower
from apps.runtime.executor.outcome import MESSAGE_MAX, NAME_MAX, TRACEBACK_MAX, cut

NOWHERE = UUID(int=0), UUID(int=0)  # queue and workflow of a job that runs no more: nothing is made there
# What comes with which outcomes alone.
ANSWERS = {
    "result": (Outcome.SUCCESS.value, Outcome.NEEDS_APPROVAL.value),
    "next_jobs": (Outcome.SUCCESS.value,),
}


def ended(session_id: UUID, results: Sequence[dict[str, Any]], held: Iterable[Any]) -> list[Ended]:
    """Each end, with the jobs that follow it. Raises BadInput naming the field of a follow-up job that is wrong."""
    running = {(job.pk, job.fence): job for job in held}
    return [_end(session_id, f"#/results/{place}", one, running) for place, one in enumerate(results)]


def _end(session_id: UUID, pointer: str, one: dict[str, Any], running: dict[tuple[UUID, int], Any]) -> Ended:
    job = running.get((one["job"], one["fence"]))
    for name, outcomes in ANSWERS.items():
        if one.get(name) and one["outcome"] not in outcomes:
            raise BadInput.at(f"{pointer}/{name}", f"Only {' or '.join(outcomes)} has this.")
    follow = _follow(job, f"{pointer}/next_jobs", one.get("next_jobs", ()))
    return Ended(
        job_id=one["job"],
        fence=one["fence"],
        session_id=session_id,
        outcome=one["outcome"],
        result=one.get("result"),
        delay_ms=one.get("delay_ms"),
        error_class=_cut(one.get("error_class"), NAME_MAX),
        error_message=_cut(one.get("error_message"), MESSAGE_MAX),
        traceback=_cut(one.get("traceback"), TRACEBACK_MAX),
        follow=follow if job is not None else (),
        request_id=job.request_id if job is not None else None,
        workflow_id=job.workflow_id if job is not None else None,
    )


def _follow(job: Any, pointer: str, given: Sequence[dict[str, Any]]) -> tuple[NewJob, ...]:
    """Checked also of a job that runs no more, but for what depends on it: a report may be said again."""
    if len(given) > settings.BATCH_MAX:
        raise BadInput.at(pointer, f"An attempt publishes at most {settings.BATCH_MAX} jobs.")
    queue_id, workflow_id = (job.queue_id, job.workflow_id) if job is not None else NOWHERE
    made = tuple(
        follower(queue_id, workflow_id, fields, pointer=f"{pointer}/{place}") for place, fields in enumerate(given)
    )
    if sum(len(one.payload) for one in made) > BYTES_MAX:
        raise BadInput.at(pointer, f"What an attempt publishes has at most {BYTES_MAX} bytes in all.")
    return made


def _cut(text: str | None, most: int) -> str | None:
    return None if text is None else cut(text, most)
