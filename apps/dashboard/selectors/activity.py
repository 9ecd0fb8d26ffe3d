"""What moved last in a project, read from its event log, where the stream goes on."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.utils.timezone import now

from apps.accounts.models import Project
from apps.audit.models import Event, Head
from apps.dashboard.selectors.job import several
from apps.jobs.models import Job

ROWS = 20
RUNS = 60  # of events that are looked through for so many different jobs


@dataclass(frozen=True, slots=True)
class Activity:
    jobs: list[Job]
    seq: int  # the stream goes on after this number


def latest(project: Project) -> Activity:
    """The jobs that moved last, each once, the newest move first."""
    seq = Head.objects.filter(pk=project.pk).values_list("seq", flat=True).first() or 0
    since = now() - timedelta(days=settings.RETENTION_EVENTS_DAYS)
    runs = Event.objects.filter(project_id=project.pk, at__gt=since).order_by("-last_seq")
    ids: dict[UUID, None] = {}
    for job_ids in runs.values_list("job_ids", flat=True)[:RUNS]:
        for job_id in reversed(job_ids):
            ids.setdefault(job_id)
            if len(ids) == ROWS:
                break
        if len(ids) == ROWS:
            break
    return Activity(several(ids, since=since), seq)


def rows(project: Project, ids: list[UUID]) -> list[Job]:
    """Those of the named jobs that belong to the project."""
    since = now() - timedelta(days=settings.RETENTION_JOBS_DAYS)
    return [job for job in several(ids[:ROWS], since=since) if job.queue.project_id == project.pk]
