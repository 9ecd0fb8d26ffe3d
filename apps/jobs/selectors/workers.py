"""One worker, as a caller may see it: because it serves a queue of theirs."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.accounts.models import Project
from apps.accounts.selectors import Caller, reach
from apps.errors import NotFound
from apps.jobs.models import Job
from apps.jobs.states import JobState
from apps.queues.models import Queue
from apps.queues.selectors import projects_with_queues
from apps.workers.models import Session

SHOWN = 200  # jobs it runs


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker by its last session, and the projects of the caller that it serves; the strongest role comes first."""

    session: Session
    projects: list[Project]

    @property
    def queue_ids(self) -> list[UUID]:
        """The caller's queues that it serves."""
        own = [pk for project in self.projects for pk in project.queue_ids]  # type: ignore[attr-defined]
        return [pk for pk in own if not self.session.queues or pk in self.session.queues]

    @property
    def serves_others(self) -> bool:
        """Whether anybody else's jobs run on it too."""
        organizations = {project.organization_id for project in self.projects}
        if self.session.worker.organization_id in organizations:
            return False
        return not self.session.queues or set(self.session.queues) > set(self.queue_ids)


def worker_seen(*, uid: str, caller: Caller) -> Seen:
    """A worker that serves any of a caller's queues. Raises NotFound."""
    session = Session.objects.select_related("worker").filter(worker__uid=uid).order_by("-started_at").first()
    if session is None:
        raise NotFound
    projects = list(_served(session, projects_with_queues(caller)))
    if not projects:
        raise NotFound
    return Seen(session, sorted(projects, key=lambda project: -reach.role_of(project).level))


def held_jobs(seen: Seen) -> list[Job]:
    """The caller's jobs that it runs, the oldest first."""
    rows = Job.objects.filter(
        shelved_on=None, state=JobState.RUNNING, session_id=seen.session.pk, queue_id__in=seen.queue_ids
    )
    return list(rows.defer("payload", "result").order_by("started_at")[:SHOWN])


def _served(session: Session, projects: QuerySet[Project]) -> QuerySet[Project]:
    if session.worker.organization_id:
        projects = projects.filter(organization_id=session.worker.organization_id)
    if session.queues:
        return projects.filter(pk__in=Queue.objects.filter(pk__in=session.queues).values("project_id"))
    return projects.filter(~Q(queue_ids=[]))
