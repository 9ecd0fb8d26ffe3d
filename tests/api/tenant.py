"""One tenant with one of everything."""

from dataclasses import dataclass, fields
from pathlib import Path
from uuid import UUID

from uuid_utils.compat import uuid7

from apps.accounts.models import Organization, Role, TokenKind
from apps.jobs import services
from apps.jobs.engine.pause import pause
from apps.queues.models import Queue
from apps.workers.models import Session
from tests import acts
from tests.factories import (
    ApiTokenFactory,
    MembershipFactory,
    ProjectFactory,
    QueueFactory,
    RetryPolicyFactory,
    SessionFactory,
    WorkerFactory,
)
from tests.jobs.aims import workflow
from tests.jobs.looks import ANN
from tests.jobs.schedules import make_schedule
from tests.jobs.workflows import begin, work

FILE = "sheet.txt"
SECRET = "the marker of this tenant's payloads"


@dataclass(frozen=True, slots=True)
class World:
    """The ids of one tenant's things."""

    org: UUID
    project: UUID
    policy: UUID
    queue: UUID
    idle_queue: UUID
    queued: UUID
    scheduled: UUID
    dead: UUID
    paused: UUID
    asking: UUID
    schedule: UUID
    batch: UUID
    workflow: UUID
    broken: UUID
    held_back: UUID
    user: UUID
    unreserved: UUID
    reservation: UUID
    session: UUID
    worker: UUID
    token: UUID
    login: UUID


NOWHERE = World(*(uuid7() for _ in fields(World)))


def build(organization: Organization, results: Path) -> World:
    """A queue with a queued, a scheduled and a dead job, another without any, a policy, a member."""
    project = ProjectFactory.create(organization=organization)
    queue = QueueFactory.create(project=project)
    QueueFactory.create(project=project, name="named")
    session = SessionFactory.create()
    dead = acts.enqueue(queue, payload=f'"{SECRET}"')
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error", error_class="OSError")
    queued = acts.enqueue(queue, payload=f'"{SECRET}"')
    (results / str(queued)).mkdir()
    (results / str(queued) / FILE).write_text("0123456789")
    return World(
        org=organization.pk,
        project=project.pk,
        policy=RetryPolicyFactory.create(project=project).pk,
        queue=queue.pk,
        idle_queue=QueueFactory.create(project=project).pk,
        queued=queued,
        scheduled=acts.enqueue(queue, delay_ms=3_600_000),
        dead=dead,
        paused=_paused(queue),
        asking=acts.enqueue(queue, requires_approval=True),
        schedule=make_schedule(queue, payload=SECRET).pk,
        batch=services.submit_batch(queue=queue, jobs=[{"type": "noop"}] * 2).batch.pk,
        **_workflows(queue),
        session=_remote(organization, queue).pk,
        worker=_worker(organization, queue),
        **_people(organization),
    )


def _workflows(queue: Queue) -> dict[str, UUID]:
    unreserved, reserved = (workflow(queue, jobs=1, type="idle")[0].pk for _ in range(2))
    return {
        "workflow": begin(queue).pk,
        "broken": _broken(queue),
        "held_back": _held_back(queue),
        "unreserved": unreserved,
        "reservation": services.reserve(workflow_id=reserved, actor=ANN).pk,
    }


def _people(organization: Organization) -> dict[str, UUID]:
    """A member, a token for programs and a log-in."""
    return {
        "user": MembershipFactory.create(organization=organization, role=Role.VIEWER).user.pk,
        "token": ApiTokenFactory.create(organization=organization).pk,
        "login": ApiTokenFactory.create(kind=TokenKind.LOGIN, organization=None, scopes=[]).pk,
    }


def _paused(queue: Queue) -> UUID:
    job_id = acts.enqueue(queue)
    pause(ids=[job_id])
    return job_id


def _broken(queue: Queue) -> UUID:
    """A workflow of which a job has failed."""
    place = QueueFactory.create(project=queue.project)
    workflow = begin(place)
    work(SessionFactory.create(), place, fail=["script"])
    return workflow.pk


def _held_back(queue: Queue) -> UUID:
    workflow = begin(queue)
    services.pause_workflow(workflow=workflow, actor=ANN)
    return workflow.pk


def _remote(organization: Organization, queue: Queue) -> Session:
    """A session of a worker that the organization runs itself."""
    worker = WorkerFactory.create(organization=organization)
    return SessionFactory.create(worker=worker, queues=[queue.pk], types=["ping"])


def _worker(organization: Organization, queue: Queue) -> UUID:
    """A worker of the organization itself, named like an id."""
    uid = uuid7()
    SessionFactory.create(worker=WorkerFactory.create(uid=str(uid), organization=organization), queues=[queue.pk])
    return uid
