"""How each endpoint is asked about a tenant that has one of everything."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from uuid_utils.compat import uuid7

from apps.accounts.models import ApiToken, User
from tests.api.tenant import FILE, NOWHERE, SECRET, World, build
from tests.factories import (
    UserFactory,
)

__all__ = ["ASKS", "FILE", "NOWHERE", "SECRET", "Ask", "World", "build"]


@dataclass(frozen=True, slots=True)
class Ask:
    """How an endpoint is asked about a world, and what it answers whoever may."""

    path: Callable[[World], str]
    body: Callable[[], Any] = lambda: None
    status: int = 200
    about: Callable[[World], Any] | None = None  # a body that names things of the world
    give: Callable[[World, User], Any] = lambda w, user: None  # makes the caller's own what must be

    def said(self, world: World, method: str = "POST") -> Any:
        """The body; a POST always has one."""
        body = self.about(world) if self.about else self.body()
        return {} if body is None and method == "POST" else body


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
    ("queue-failure-summary", "GET"): Ask(lambda w: f"queues/{w.queue}/failure-summary"),
    ("project-events", "GET"): Ask(lambda w: f"projects/{w.project}/events?after=0"),
    ("sysinfo", "GET"): Ask(lambda w: "sysinfo"),
    ("schema", "GET"): Ask(lambda w: "schema"),
    ("schema-swagger", "GET"): Ask(lambda w: "schema/swagger"),
    ("schema-redoc", "GET"): Ask(lambda w: "schema/redoc"),
}
