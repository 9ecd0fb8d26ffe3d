"""Who may do what: the least role and the scope of every endpoint. docs/roles.md is drawn from here.

An endpoint that is not in this table answers nobody, and a test finds it.
"""

from dataclasses import dataclass
from enum import Enum

from apps.accounts.models import Role


class Least(Enum):
    """What a caller needs who needs no role in an organization."""

    OPEN = "anybody"
    OWN = "anybody logged in"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class Rule:
    least: Role | Least
    scope: str | None = None  # what a token needs besides; None: any token will do


OPEN = Rule(Least.OPEN)
VIEW = Rule(Role.VIEWER, "read")
SUBMIT = Rule(Role.MEMBER, "submit")
OPERATE = Rule(Role.MEMBER, "operate")
ADMIN = Rule(Role.ADMIN, "admin")
WORK = Rule(Role.MEMBER, "worker")
OWNER = Rule(Role.OWNER, "admin")
TOKENS = Rule(Role.MEMBER, "admin")  # one's own; other people's are an admin's affair

# By the name of the route, then the method.
RULES: dict[str, dict[str, Rule]] = {
    "auth-register": {"POST": OPEN},
    "auth-login": {"POST": OPEN},
    "auth-logout": {"POST": Rule(Least.OWN)},
    "auth-me": {"GET": Rule(Least.OWN)},
    "auth-password": {"POST": Rule(Least.OWN)},
    "auth-sessions": {"GET": Rule(Least.OWN), "DELETE": Rule(Least.OWN)},
    "auth-session": {"DELETE": Rule(Least.OWN)},
    "auth-password-reset": {"POST": OPEN},
    "auth-password-reset-confirm": {"POST": OPEN},
    "auth-verify": {"POST": OPEN},
    "orgs": {"GET": Rule(Least.OWN, "read"), "POST": Rule(Least.OWN, "admin")},
    "org": {"GET": VIEW, "PATCH": ADMIN, "DELETE": OWNER},
    "org-members": {"GET": VIEW, "POST": ADMIN},
    "org-member": {"PATCH": ADMIN, "DELETE": ADMIN},
    "org-audit": {"GET": ADMIN},
    "org-audit-export": {"GET": ADMIN},
    "org-tokens": {"GET": TOKENS, "POST": TOKENS},
    "token": {"DELETE": TOKENS},
    "token-rotate": {"POST": TOKENS},
    "org-projects": {"GET": VIEW, "POST": ADMIN},
    "project": {"GET": VIEW, "PATCH": ADMIN, "DELETE": ADMIN},
    "project-retry-policies": {"GET": VIEW, "POST": ADMIN},
    "retry-policy": {"GET": VIEW, "PATCH": ADMIN, "DELETE": ADMIN},
    "project-queues": {"GET": VIEW, "POST": ADMIN},
    "queue": {"GET": VIEW, "PATCH": ADMIN, "DELETE": ADMIN},
    "queue-pause": {"POST": OPERATE},
    "queue-resume": {"POST": OPERATE},
    "queue-breaker": {"POST": OPERATE},
    "project-paused-types": {"GET": VIEW},
    "project-type-pause": {"POST": OPERATE},
    "project-type-resume": {"POST": OPERATE},
    "queue-purge": {"POST": ADMIN},
    "project-queue-health": {"GET": VIEW},
    "queue-stats": {"GET": VIEW},
    "queue-series": {"GET": VIEW},
    "queue-failure-summary": {"GET": VIEW},
    "queue-jobs": {"POST": SUBMIT},
    "queue-jobs-batch": {"POST": SUBMIT},
    "queue-dlq-replay": {"POST": OPERATE},
    "queue-schedules": {"GET": VIEW, "POST": ADMIN},
    "schedule": {"GET": VIEW, "PATCH": ADMIN, "DELETE": ADMIN},
    "schedule-pause": {"POST": OPERATE},
    "schedule-resume": {"POST": OPERATE},
    "schedule-run-now": {"POST": OPERATE},
    "schedule-preview": {"GET": VIEW},
    "schedule-ticks": {"GET": VIEW},
    "project-line": {"GET": VIEW},
    "batch": {"GET": VIEW},
    "batch-cancel": {"POST": OPERATE},
    "project-workflows": {"GET": VIEW, "POST": SUBMIT},
    "workflow": {"GET": VIEW},
    "workflow-cancel": {"POST": OPERATE},
    "workflow-pause": {"POST": OPERATE},
    "workflow-resume": {"POST": OPERATE},
    "workflow-retry": {"POST": OPERATE},
    "workflow-priority": {"POST": OPERATE},
    "workflow-move": {"POST": OPERATE},
    "workflow-run-next": {"POST": OPERATE},
    "workflow-reassign": {"POST": OPERATE},
    "jobs": {"GET": VIEW},
    "job": {"GET": VIEW, "PATCH": OPERATE},
    "job-logs": {"GET": VIEW},
    "job-file": {"GET": VIEW},
    "job-cancel": {"POST": OPERATE},
    "job-retry": {"POST": OPERATE},
    "job-replay": {"POST": OPERATE},
    "job-pause": {"POST": OPERATE},
    "job-resume": {"POST": OPERATE},
    "job-reschedule": {"POST": OPERATE},
    "job-priority": {"POST": OPERATE},
    "job-move": {"POST": OPERATE},
    "job-run-next": {"POST": OPERATE},
    "job-duplicate": {"POST": SUBMIT},
    "job-approve": {"POST": OPERATE},
    "job-reject": {"POST": OPERATE},
    "job-reassign": {"POST": OPERATE},
    "reservations": {"GET": VIEW, "POST": ADMIN},
    "reservation": {"GET": VIEW, "DELETE": ADMIN},
    "dlq": {"GET": VIEW},
    "dlq-job": {"DELETE": ADMIN},
    "dlq-job-replay": {"POST": OPERATE},
    "workers": {"GET": VIEW},
    "worker-sessions": {"POST": WORK},
    "worker-session": {"DELETE": WORK},
    "worker-session-claim": {"POST": WORK},
    "worker-session-heartbeat": {"POST": WORK},
    "worker-session-report": {"POST": WORK},
    "worker": {"GET": VIEW},
    "worker-drain": {"POST": ADMIN},
    "worker-resume": {"POST": ADMIN},
    "project-events": {"GET": VIEW},
    "sysinfo": {"GET": Rule(Least.STAFF, "admin")},
    "schema": {"GET": OPEN},
    "schema-swagger": {"GET": OPEN},
    "schema-redoc": {"GET": OPEN},
}


# Sockets, by the name of the route.
SOCKETS: dict[str, Rule] = {"project-events-stream": VIEW}


def rule_of(route: str, method: str) -> Rule | None:
    """The rule of an endpoint; HEAD is GET without a body."""
    return RULES.get(route, {}).get("GET" if method == "HEAD" else method)
