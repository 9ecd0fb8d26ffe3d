"""One tenant with one of everything, and how each endpoint is asked about it."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from apps.accounts.models import ApiToken, Organization, Role, TokenKind, User
from apps.jobs import services
from apps.jobs.engine.pause import pause
from apps.jobs.models import Workflow
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
    UserFactory,
    WorkerFactory,
)
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
    unreserved, reserved = (Workflow.objects.create(project=queue.project).pk for _ in range(2))
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


@dataclass(frozen=True, slots=True)
class Ask:
    """How an endpoint is asked about a world, and what it answers whoever may."""

    path: Callable[[World], str]
    body: Callable[[], Any] = lambda: None
    status: int = 200
    about: Callable[[World], Any] | None = None  # a body that names things of the world
    give: Callable[[World, User], Any] = lambda w, user: None  # makes the caller's own what must be

    def said(self, world: World) -> Any:
        return self.about(world) if self.about else self.body()


def _give_token(world: World, user: User) -> None:
    ApiToken.objects.filter(pk=world.token).update(user=user)


def _give_login(world: World, user: User) -> None:
    ApiToken.objects.filter(pk=world.login).update(user=user)


def _newcomer() -> dict[str, str]:
    return {"email": UserFactory.create().email, "role": "viewer"}


# Every route and method of the API. One that is missing here fails test_roles.
ASKS: dict[tuple[str, str], Ask] = {
    ("auth-register", "POST"): Ask(
        lambda w: "auth/register", lambda: {"email": "new@example.com", "password": "a long enough one"}, 201
    ),
    ("auth-login", "POST"): Ask(lambda w: "auth/login", lambda: {"email": "no@example.com", "password": "x"}, 401),
    ("auth-logout", "POST"): Ask(lambda w: "auth/logout", status=204),
    ("auth-me", "GET"): Ask(lambda w: "auth/me"),
    ("auth-password", "POST"): Ask(
        lambda w: "auth/password", lambda: {"current_password": "wrong", "new_password": "a long enough one"}, 401
    ),
    ("auth-sessions", "GET"): Ask(lambda w: "auth/sessions"),
    ("auth-sessions", "DELETE"): Ask(lambda w: "auth/sessions", status=204),
    ("auth-session", "DELETE"): Ask(lambda w: f"auth/sessions/{w.login}", status=204, give=_give_login),
    ("auth-password-reset", "POST"): Ask(lambda w: "auth/password/reset", lambda: {"email": "no@example.com"}, 204),
    ("auth-password-reset-confirm", "POST"): Ask(
        lambda w: "auth/password/reset/confirm", lambda: {"key": "x-y", "new_password": "a long enough one"}, 400
    ),
    ("auth-verify", "POST"): Ask(lambda w: "auth/verify", lambda: {"key": "x"}, 400),
    ("orgs", "GET"): Ask(lambda w: "orgs"),
    ("orgs", "POST"): Ask(lambda w: "orgs", lambda: {"name": "Another one"}, 201),
    ("org", "GET"): Ask(lambda w: f"orgs/{w.org}"),
    ("org", "PATCH"): Ask(lambda w: f"orgs/{w.org}", lambda: {"name": "Other"}),
    ("org", "DELETE"): Ask(lambda w: f"orgs/{w.org}?cancel=true", status=204),
    ("org-members", "GET"): Ask(lambda w: f"orgs/{w.org}/members"),
    ("org-members", "POST"): Ask(lambda w: f"orgs/{w.org}/members", _newcomer, 201),
    ("org-member", "PATCH"): Ask(lambda w: f"orgs/{w.org}/members/{w.user}", lambda: {"role": "member"}),
    ("org-member", "DELETE"): Ask(lambda w: f"orgs/{w.org}/members/{w.user}", status=204),
    ("org-audit", "GET"): Ask(lambda w: f"orgs/{w.org}/audit"),
    ("org-audit-export", "GET"): Ask(lambda w: f"orgs/{w.org}/audit/export?format=jsonl"),
    ("org-tokens", "GET"): Ask(lambda w: f"orgs/{w.org}/tokens"),
    ("org-tokens", "POST"): Ask(lambda w: f"orgs/{w.org}/tokens", lambda: {"name": "new", "scopes": ["read"]}, 201),
    ("token", "DELETE"): Ask(lambda w: f"tokens/{w.token}", status=204, give=_give_token),
    ("token-rotate", "POST"): Ask(lambda w: f"tokens/{w.token}/rotate", give=_give_token),
    ("org-projects", "GET"): Ask(lambda w: f"orgs/{w.org}/projects"),
    ("org-projects", "POST"): Ask(lambda w: f"orgs/{w.org}/projects", lambda: {"name": "New"}, 201),
    ("project", "GET"): Ask(lambda w: f"projects/{w.project}"),
    ("project", "PATCH"): Ask(lambda w: f"projects/{w.project}", lambda: {"name": "Other"}),
    ("project", "DELETE"): Ask(lambda w: f"projects/{w.project}?cancel=true", status=204),
    ("project-retry-policies", "GET"): Ask(lambda w: f"projects/{w.project}/retry-policies"),
    ("project-retry-policies", "POST"): Ask(
        lambda w: f"projects/{w.project}/retry-policies", lambda: {"name": "new"}, 201
    ),
    ("retry-policy", "GET"): Ask(lambda w: f"retry-policies/{w.policy}"),
    ("retry-policy", "PATCH"): Ask(lambda w: f"retry-policies/{w.policy}", lambda: {"max_attempts": 3}),
    ("retry-policy", "DELETE"): Ask(lambda w: f"retry-policies/{w.policy}", status=204),
    ("project-queues", "GET"): Ask(lambda w: f"projects/{w.project}/queues"),
    ("project-queues", "POST"): Ask(lambda w: f"projects/{w.project}/queues", lambda: {"name": "new"}, 201),
    ("queue", "GET"): Ask(lambda w: f"queues/{w.queue}"),
    ("queue", "PATCH"): Ask(lambda w: f"queues/{w.queue}", lambda: {"timeout_ms": 5}),
    ("queue", "DELETE"): Ask(lambda w: f"queues/{w.idle_queue}", status=204),
    ("queue-pause", "POST"): Ask(lambda w: f"queues/{w.queue}/pause", lambda: {"reason": "x"}),
    ("queue-resume", "POST"): Ask(lambda w: f"queues/{w.queue}/resume"),
    ("queue-breaker", "POST"): Ask(lambda w: f"queues/{w.queue}/breaker", lambda: {"state": "open"}),
    ("project-paused-types", "GET"): Ask(lambda w: f"projects/{w.project}/paused-types"),
    ("project-type-pause", "POST"): Ask(lambda w: f"projects/{w.project}/types/noop/pause", lambda: {"reason": "x"}),
    ("project-type-resume", "POST"): Ask(lambda w: f"projects/{w.project}/types/noop/resume"),
    ("queue-purge", "POST"): Ask(lambda w: f"queues/{w.queue}/purge"),
    ("queue-jobs", "POST"): Ask(lambda w: f"queues/{w.queue}/jobs", lambda: {"type": "noop"}, 201),
    ("queue-jobs-batch", "POST"): Ask(
        lambda w: f"queues/{w.queue}/jobs/batch", lambda: {"jobs": [{"type": "noop"}]}, 201
    ),
    ("queue-dlq-replay", "POST"): Ask(lambda w: f"queues/{w.queue}/dlq/replay"),
    ("queue-schedules", "GET"): Ask(lambda w: f"queues/{w.queue}/schedules"),
    ("queue-schedules", "POST"): Ask(
        lambda w: f"queues/{w.queue}/schedules",
        lambda: {"name": "new", "cron_expr": "@daily", "job_type": "noop"},
        201,
    ),
    ("schedule", "GET"): Ask(lambda w: f"schedules/{w.schedule}"),
    ("schedule", "PATCH"): Ask(lambda w: f"schedules/{w.schedule}", lambda: {"priority": 5}),
    ("schedule", "DELETE"): Ask(lambda w: f"schedules/{w.schedule}", status=204),
    ("schedule-pause", "POST"): Ask(lambda w: f"schedules/{w.schedule}/pause", lambda: {"reason": "x"}),
    ("schedule-resume", "POST"): Ask(lambda w: f"schedules/{w.schedule}/resume"),
    ("schedule-run-now", "POST"): Ask(lambda w: f"schedules/{w.schedule}/run-now"),
    ("schedule-preview", "GET"): Ask(lambda w: f"schedules/{w.schedule}/preview?count=3"),
    ("schedule-ticks", "GET"): Ask(lambda w: f"schedules/{w.schedule}/ticks"),
    ("project-line", "GET"): Ask(lambda w: f"projects/{w.project}/line"),
    ("batch", "GET"): Ask(lambda w: f"batches/{w.batch}"),
    ("batch-cancel", "POST"): Ask(lambda w: f"batches/{w.batch}/cancel"),
    ("project-workflows", "GET"): Ask(lambda w: f"projects/{w.project}/workflows"),
    ("project-workflows", "POST"): Ask(
        lambda w: f"projects/{w.project}/workflows",
        lambda: {"jobs": [{"name": "a", "queue": "named", "type": "noop"}]},
        201,
    ),
    ("workflow", "GET"): Ask(lambda w: f"workflows/{w.workflow}"),
    ("workflow-cancel", "POST"): Ask(lambda w: f"workflows/{w.workflow}/cancel"),
    ("workflow-pause", "POST"): Ask(lambda w: f"workflows/{w.workflow}/pause", lambda: {"reason": "x"}),
    ("workflow-resume", "POST"): Ask(lambda w: f"workflows/{w.held_back}/resume"),
    ("workflow-retry", "POST"): Ask(lambda w: f"workflows/{w.broken}/retry"),
    ("workflow-priority", "POST"): Ask(lambda w: f"workflows/{w.workflow}/priority", lambda: {"priority": 5}),
    ("workflow-move", "POST"): Ask(lambda w: f"workflows/{w.workflow}/move", lambda: {"to": "top"}),
    ("workflow-run-next", "POST"): Ask(lambda w: f"workflows/{w.workflow}/run-next"),
    ("workflow-reassign", "POST"): Ask(lambda w: f"workflows/{w.workflow}/reassign", lambda: {"worker": None}),
    ("jobs", "GET"): Ask(lambda w: f"jobs?queue={w.queue}"),
    ("job", "GET"): Ask(lambda w: f"jobs/{w.queued}"),
    ("job", "PATCH"): Ask(lambda w: f"jobs/{w.queued}", lambda: {"depends_on": []}),
    ("job-logs", "GET"): Ask(lambda w: f"jobs/{w.queued}/logs"),
    ("job-file", "GET"): Ask(lambda w: f"jobs/{w.queued}/files/{FILE}"),
    ("job-cancel", "POST"): Ask(lambda w: f"jobs/{w.queued}/cancel"),
    ("job-retry", "POST"): Ask(lambda w: f"jobs/{w.scheduled}/retry"),
    ("job-replay", "POST"): Ask(lambda w: f"jobs/{w.dead}/replay"),
    ("job-pause", "POST"): Ask(lambda w: f"jobs/{w.queued}/pause", lambda: {"reason": "x"}),
    ("job-resume", "POST"): Ask(lambda w: f"jobs/{w.paused}/resume"),
    ("job-reschedule", "POST"): Ask(lambda w: f"jobs/{w.scheduled}/reschedule", lambda: {"delay_seconds": 5}),
    ("job-priority", "POST"): Ask(lambda w: f"jobs/{w.queued}/priority", lambda: {"priority": 5}),
    ("job-move", "POST"): Ask(lambda w: f"jobs/{w.queued}/move", lambda: {"to": "top"}),
    ("job-duplicate", "POST"): Ask(lambda w: f"jobs/{w.dead}/duplicate", lambda: {"priority": 5}, 201),
    ("job-approve", "POST"): Ask(lambda w: f"jobs/{w.asking}/approve", lambda: {"note": "x"}),
    ("job-reject", "POST"): Ask(lambda w: f"jobs/{w.asking}/reject", lambda: {"note": "x"}),
    ("job-run-next", "POST"): Ask(lambda w: f"jobs/{w.scheduled}/run-next"),
    ("job-reassign", "POST"): Ask(lambda w: f"jobs/{w.scheduled}/reassign", lambda: {"worker": None}),
    ("dlq", "GET"): Ask(lambda w: f"dlq?project={w.project}"),
    ("dlq-job", "DELETE"): Ask(lambda w: f"dlq/{w.dead}", status=204),
    ("dlq-job-replay", "POST"): Ask(lambda w: f"dlq/{w.dead}/replay"),
    ("reservations", "GET"): Ask(lambda w: f"reservations?project={w.project}"),
    ("reservations", "POST"): Ask(
        lambda w: "reservations", status=201, about=lambda w: {"workflow": str(w.unreserved)}
    ),
    ("reservation", "GET"): Ask(lambda w: f"reservations/{w.reservation}"),
    ("reservation", "DELETE"): Ask(lambda w: f"reservations/{w.reservation}"),
    ("workers", "GET"): Ask(lambda w: f"workers?project={w.project}"),
    ("worker-sessions", "POST"): Ask(
        lambda w: "worker/sessions",
        status=201,
        about=lambda w: {"uid": "new", "types": ["ping"], "organization": str(w.org)},
    ),
    ("worker-session", "DELETE"): Ask(lambda w: f"worker/sessions/{w.session}", status=204),
    ("worker-session-claim", "POST"): Ask(lambda w: f"worker/sessions/{w.session}/claim"),
    ("worker-session-heartbeat", "POST"): Ask(lambda w: f"worker/sessions/{w.session}/heartbeat"),
    ("worker-session-report", "POST"): Ask(
        lambda w: f"worker/sessions/{w.session}/report",
        lambda: {"results": [{"job": str(uuid7()), "fence": "1", "outcome": "success"}]},
    ),
    ("worker", "GET"): Ask(lambda w: f"workers/{w.worker}"),
    ("worker-drain", "POST"): Ask(lambda w: f"workers/{w.worker}/drain"),
    ("worker-resume", "POST"): Ask(lambda w: f"workers/{w.worker}/resume"),
    ("project-queue-health", "GET"): Ask(lambda w: f"projects/{w.project}/queue-health"),
    ("queue-stats", "GET"): Ask(lambda w: f"stats/queues/{w.queue}"),
    ("queue-series", "GET"): Ask(lambda w: f"stats/queues/{w.queue}/series?minutes=5"),
    ("project-events", "GET"): Ask(lambda w: f"projects/{w.project}/events?after=0"),
    ("sysinfo", "GET"): Ask(lambda w: "sysinfo"),
    ("schema", "GET"): Ask(lambda w: "schema"),
    ("schema-swagger", "GET"): Ask(lambda w: "schema/swagger"),
    ("schema-redoc", "GET"): Ask(lambda w: "schema/redoc"),
}
