"""Jobs as they go out."""

from dataclasses import fields
from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse

from apps.accounts.models import Role
from apps.errors import NotFound
from apps.jobs.engine.list_jobs import Listed, Window, list_jobs
from apps.jobs.models import Job
from apps.jobs.selectors import detail
from apps.jobs.selectors.why import why_waiting
from apps.jobs.serializers import answers
from apps.jobs.states import WAITING, JobState, Placement

_LISTED = answers.JobAnswer()  # made once: it copies all its fields, and a page has two hundred rows
NAMES = [*(field.name for field in fields(Listed)), "labels"]
SILENT = {JobState.QUEUED, JobState.SCHEDULED, JobState.BLOCKED}  # nothing may have run, so nothing was saved


def listed(job: Listed) -> dict[str, Any]:
    """A job as a list shows it; its position costs too much there."""
    return _LISTED.to_representation(facts(job))


def brief(job: Job) -> dict[str, Any]:
    """The same of one job, as it is now."""
    return listed(_as_listed(job))


def cancelled(job: Job, *, cancelling: bool) -> dict[str, Any]:
    """The same after a cancel."""
    return answers.CancelledAnswer({**facts(_as_listed(job)), "cancelling": cancelling}).data


def whole(job: Job, role: Role) -> dict[str, Any]:
    """Everything there is to know of a job, as far as a role may."""
    least = Role(job.queue.hide_payloads_below or job.queue.project.hide_payloads_below)
    hidden = role.level < least.level
    told, waiting, now = detail.progress(job), why_waiting(job), facts(_as_listed(job))
    lease = _lease(job)
    if now["state"] not in WAITING:  # it was claimed since the line before
        waiting = None
    everything = {
        **vars(job),
        **now,
        "position": waiting.position if waiting and not waiting.is_far else None,
        "pending_parents": job.pending,
        "approval": _approval(job.approval) if job.approval else None,
        "placement": job.placement or Placement.ANY.value,
        "payload": None if hidden else job.payload,
        "result": None if hidden else job.result,
        "earlier_payloads": [] if hidden else detail.earlier_payloads(job),
        "payload_hidden": hidden,
        "note": told.note if told else None,
        "why_waiting": waiting,
        "lease": lease,
        "attempts": [_attempt(one) for one in detail.history(job, runs_on=lease["worker"] if lease else None)],
        "parents": detail.parents(job),
        "children": detail.children(job),
        "files": _files(job),
    }
    return answers.JobDetailAnswer(everything).data


def _files(job: Job) -> list[dict[str, Any]]:
    found = detail.files(job.pk)
    return [{"name": path.name, "bytes": path.stat().st_size, "url": file_url(job.pk, path.name)} for path in found]


def file_url(job_id: UUID, name: str) -> str:
    """Where a file that a job saved is served."""
    return reverse("job-file", args=[job_id, name])


def _as_listed(job: Job) -> Listed:
    """The page that begins with this job and has one row."""
    window = Window(limit=1, older_than=UUID(int=job.pk.int + 1))
    found = list_jobs(queue_ids=[job.queue_id], window=window)
    if not found or found[0].id != job.pk:
        raise NotFound
    return found[0]


def facts(job: Listed) -> dict[str, Any]:
    """What every answer about a job has."""
    saved = detail.files(job.id) if job.state not in SILENT or job.attempt else []
    url = file_url(job.id, saved[0].name) if saved else None
    return {**{name: getattr(job, name) for name in NAMES}, "position": None, "result_url": url}


def _lease(job: Job) -> dict[str, Any] | None:
    session = detail.holder(job)
    if session is None:
        return None
    return {
        "worker": session.worker.uid,
        "session": session.pk,
        "fence": job.fence,
        "expires_at": session.lease_expires_at,
        "deadline_at": job.deadline_at,
    }


def _approval(kept: dict[str, str]) -> dict[str, Any]:
    moments: dict[str, Any] = {name: datetime.fromisoformat(kept[name]) for name in ("asked_at", "at") if name in kept}
    return {**dict.fromkeys(("asked_at", "decision", "at", "by", "note")), **kept, **moments}


def _attempt(ran: detail.Ran) -> dict[str, Any]:
    return {**vars(ran.attempt), "outcome": ran.attempt.outcome or None, "worker": ran.worker, "logs": ran.logs}
