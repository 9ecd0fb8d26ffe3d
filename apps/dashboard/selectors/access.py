"""Who may look at what: asked anew on each request, in the statement that reads it."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import OuterRef, Subquery

from apps.accounts.models import Project, Role, User
from apps.accounts.selectors.callers import caller_of_user
from apps.accounts.selectors.reach import projects, reachable, role_of
from apps.audit.models import Head
from apps.errors import Forbidden, NotFound
from apps.jobs.models import Job
from apps.jobs.selectors import find
from apps.queues.models import Queue


@dataclass(frozen=True, slots=True)
class Seat:
    """A project that a person may see, and their role in its organization."""

    project: Project
    role: Role

    @property
    def may_operate(self) -> bool:
        """Cancel, retry, replay, pause and resume."""
        return self.role.level >= Role.MEMBER.level

    @property
    def may_purge(self) -> bool:
        return self.role.level >= Role.ADMIN.level

    @property
    def may_release(self) -> bool:
        """End a reservation."""
        return self.role.level >= Role.ADMIN.level

    @property
    def may_discard(self) -> bool:
        return self.role.level >= Role.ADMIN.level

    def demand(self, least: Role) -> None:
        """Raise Forbidden below this role."""
        if self.role.level < least.level:
            raise Forbidden(f"This takes the role {least.value} in {self.project.organization.name}.")

    def sees_payloads_of(self, queue: Queue) -> bool:
        """A queue may ask for a higher role than its project does, or a lower one."""
        least = Role(queue.hide_payloads_below or self.project.hide_payloads_below)
        return self.role.level >= least.level


def seats(user: User) -> list[Seat]:
    """Every project of every organization this person belongs to."""
    mine = projects(caller_of_user(user)).order_by("organization__name", "organization_id", "name", "id")
    return [Seat(project, role_of(project)) for project in mine]


def queue_seat(user: User, queue_id: UUID) -> tuple[Queue, Seat]:
    """A queue and the seat from which it is seen; raises NotFound for a stranger's as for none."""
    rows = Queue.objects.filter(pk=queue_id).select_related("project__organization", "retry_policy")
    mine = reachable(rows, caller_of_user(user), project="project", organization="project__organization")
    queue = mine.first()
    if queue is None:
        raise NotFound
    return queue, Seat(queue.project, role_of(queue))


def job_seat(user: User, job_id: UUID) -> tuple[Job, Seat]:
    """A job, without its payload and result, and the seat from which it is seen.

    Its `seq` is the number after which the stream tells what this very look did not see yet.
    """
    rows = Job.objects.annotate(seq=Subquery(Head.objects.filter(pk=OuterRef("queue__project")).values("seq")))
    rows = rows.select_related("queue__project__organization", "retry_policy").defer("payload", "result")
    rows = rows.filter(queue__deleted_at=None)
    mine = reachable(rows, caller_of_user(user), project="queue__project", organization="queue__project__organization")
    job = find(job_id, among=mine)
    return job, Seat(job.queue.project, role_of(job))
