"""What a worker's token reaches: its organization, the sessions there, and the queues it may serve."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.db.models.functions import Now

from apps.accounts.models import Organization
from apps.accounts.selectors import Caller, reachable
from apps.errors import BadInput, Fault
from apps.jobs.models import Job
from apps.jobs.states import JobState
from apps.queues.models import Queue
from apps.queues.selectors import queues
from apps.workers.models import Session, Worker


def homes(caller: Caller) -> QuerySet[Organization]:
    """The organizations a caller's workers may belong to: for a project's token too, for a worker has no project."""
    return reachable(Organization.objects.all(), _whole(caller), project=None, organization="")


def sessions(caller: Caller) -> QuerySet[Session]:
    """The sessions of those organizations' workers, each with whether it `lapsed` by the database's clock."""
    lapsed = ExpressionWrapper(Q(lease_expires_at__lte=Now()), output_field=BooleanField())
    rows = Session.objects.select_related("worker").annotate(lapsed=lapsed)
    return reachable(rows, _whole(caller), project=None, organization="worker__organization")


def strays(caller: Caller, *these: Session) -> bool:
    """Whether a session serves queues beyond the project that its caller's token is for."""
    if caller.project_id is None:
        return False
    served = {queue_id for session in these for queue_id in session.queues}
    return Queue.objects.filter(pk__in=served).exclude(project_id=caller.project_id).exists()


def shut(caller: Caller, organization: Organization, uid: str) -> bool:
    """Whether the worker of this name is at work where the caller's token does not reach.

    Its row is held: nobody begins a session of it before the transaction ends.
    """
    if caller.project_id is None:
        return False
    worker = Worker.objects.select_for_update(no_key=True).filter(uid=uid, organization=organization).first()
    return worker is not None and strays(caller, *worker.sessions.filter(ended_at=None, fenced_at=None))


def named(caller: Caller, organization: Organization, names: Sequence[str] | None) -> list[UUID]:
    """The queues that a new session serves: those named by id or project/queue, or all that the caller reaches."""
    rows = queues(caller).filter(project__organization=organization).order_by("pk")
    if names is None:
        return list(rows.values_list("pk", flat=True))
    known = _named(rows, names)
    missing = [place for place, name in enumerate(names) if name.lower() not in known]
    if missing:
        faults = [Fault(f"#/queues/{place}", "There is no such queue.") for place in missing]
        raise BadInput(f"{faults[0].pointer}: {faults[0].detail}", errors=faults)
    return sorted({known[name.lower()] for name in names})


def _named(rows: QuerySet[Queue], names: Sequence[str]) -> dict[str, UUID]:
    wanted = Q(pk__in=[])
    for name in set(names):
        project, slash, queue = name.partition("/")
        wanted |= Q(project__slug=project, name=queue) if slash else Q(pk__in=_ids([name]))
    known: dict[str, UUID] = {}
    for pk, project, queue in rows.filter(wanted).values_list("pk", "project__slug", "name"):
        known |= {str(pk): pk, f"{project}/{queue}".lower(): pk}
    return known


def _ids(texts: Collection[str]) -> list[UUID]:
    found = []
    for text in texts:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


def served(caller: Caller, ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Which of these queues the caller reaches now, each with its share of slots."""
    rows = queues(caller).filter(pk__in=list(ids)).order_by("pk")
    return dict(rows.values_list("pk", "weight"))


def running(session: Session, ids: Collection[UUID] | None = None) -> list[Any]:
    """What a session runs, or which of these jobs: id, fence, queue_id, concurrency_key, workflow_id, request_id."""
    rows = Job.objects.filter(shelved_on=None, session_id=session.pk, state=JobState.RUNNING)
    if ids is not None:
        rows = rows.filter(pk__in=list(ids))
    return list(rows.order_by("pk").only("id", "fence", "queue_id", "concurrency_key", "workflow_id", "request_id"))


def has_room(session: Session) -> bool:
    """Whether a session runs fewer jobs than it has slots."""
    rows = Job.objects.filter(shelved_on=None, session_id=session.pk, state=JobState.RUNNING)
    return rows.count() < session.concurrency


def _whole(caller: Caller) -> Caller:
    return replace(caller, project_id=None)
