"""Every way there is to change something, and how it is gone; what leaves no entry says why."""

from collections.abc import Callable
from typing import Any

from django.utils.timezone import now

from apps.accounts.models import User
from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.queues import services as queues
from apps.queues.models import Queue
from apps.workers.models import Worker
from tests.api.world import World
from tests.factories import PASSWORD


def queue_of(world: World) -> Queue:
    return Queue.objects.select_related("project__organization").get(pk=world.queue)


def pause_queue(world: World) -> None:
    queues.pause(queue=queue_of(world), actor=SYSTEM)


def pause_type(world: World) -> None:
    queues.pause_type(project=queue_of(world).project, type="noop", actor=SYSTEM)


def pause_schedule(world: World) -> None:
    services.pause_schedule(schedule=queue_of(world).schedules.get(pk=world.schedule), actor=SYSTEM)


def open_breaker(world: World) -> None:
    queues.open_breaker(queue=queue_of(world), actor=SYSTEM)


def drain_workers(world: World) -> None:
    Worker.objects.update(drained_at=now())


# What must be done before a change changes anything: by route, name of a page, or action of the admin.
FIRST: dict[str, Callable[[World], None]] = {
    "queue-resume": pause_queue,
    "project-type-resume": pause_type,
    "schedule-resume": pause_schedule,
    "worker-resume": drain_workers,
}
# Bodies that do something where those of tests/api/world.py only ask.
BODIES: dict[tuple[str, str], Callable[[User], tuple[dict[str, str], int]]] = {
    ("auth-login", "POST"): lambda user: ({"email": user.email, "password": PASSWORD}, 200),
    ("auth-password", "POST"): lambda user: (
        {"current_password": PASSWORD, "new_password": "twelve angry staples"},
        204,
    ),
}
BY_MAIL = "nothing changes until the key comes back"
KEYS = "recorded as user.password and user.verify: tests/accounts/test_recovery.py, for it takes a key from a mail"
SUBMITS = "submitting is no privilege: the job remembers who did, and the event log that it came"
WORKS = "a worker at work: the session and the ledger say who, and when"
UNRECORDED: dict[tuple[str, str], str] = {
    ("auth-password-reset", "POST"): BY_MAIL,
    ("auth-password-reset-confirm", "POST"): KEYS,
    ("auth-verify", "POST"): KEYS,
    ("queue-jobs", "POST"): SUBMITS,
    ("queue-jobs-batch", "POST"): SUBMITS,
    ("project-workflows", "POST"): SUBMITS,
    ("worker-sessions", "POST"): WORKS,
    ("worker-session", "DELETE"): WORKS,
    ("worker-session-claim", "POST"): WORKS,
    ("worker-session-heartbeat", "POST"): WORKS,
    ("worker-session-report", "POST"): WORKS,
}

# Commands, by what they do to what the audit is about.
READS = "reads, or writes to the screen or to files"
SYSTEM_LOOPS = "runs jobs and loops; what these decide is recorded as system"
DEVELOPS = "for whoever develops: has databases of its own"
OPERATES = "needs the database's own password: whoever has it needs no command"
COUNTERS = "forgets counted failures or old sessions, which nobody's rights hang on"
COMMANDS: dict[str, str] = {
    **dict.fromkeys(
        ("apidocs", "check", "compilemessages", "collectstatic", "diagram", "diffsettings", "dumpdata", "findstatic"),
        READS,
    ),
    **dict.fromkeys(("axes_list_attempts", "generateschema", "inspectdb", "invariants", "makemessages"), READS),
    **dict.fromkeys(("makemigrations", "optimizemigration", "sendtestemail", "showmigrations", "spectacular"), READS),
    **dict.fromkeys(("sqlflush", "sqlmigrate", "sqlsequencereset", "squashmigrations", "why"), READS),
    **dict.fromkeys(("startapp", "startproject", "runserver"), READS),
    **dict.fromkeys(("runcron", "runreaper", "runscheduler", "runworker", "up"), SYSTEM_LOOPS),
    **dict.fromkeys(("bench", "chaos", "demo", "test", "testserver"), DEVELOPS),
    **dict.fromkeys(("createcachetable", "dbshell", "flush", "loaddata", "migrate", "shell"), OPERATES),
    **dict.fromkeys(("remove_stale_contenttypes", "account_unsetmultipleprimaryemails"), OPERATES),
    **dict.fromkeys(("axes_reset", "axes_reset_failure_logs", "axes_reset_ip", "axes_reset_ip_username"), COUNTERS),
    **dict.fromkeys(("axes_reset_logs", "axes_reset_username", "clearsessions"), COUNTERS),
}

# Pages: their arguments are named as in tests/api/world.py; what a form sends.
JOBS_OF_PAGES = {
    "cancel": "queued",
    "retry": "scheduled",
    "replay": "dead",
    "duplicate": "queued",
    "approve": "asking",
    "reject": "asking",
    "discard": "dead",
    "pause_job": "queued",
    "resume_job": "paused",
    "move": "queued",
    "run_next": "scheduled",
    "priority": "queued",
    "reschedule": "scheduled",
    "cancel_workflow": "workflow",
    "pause_workflow": "workflow",
    "resume_workflow": "held_back",
    "retry_workflow": "broken",
    "priority_workflow": "workflow",
    "move_workflow": "workflow",
    "run_workflow_next": "workflow",
    "reassign": "scheduled",
    "reassign_workflow": "workflow",
    "cancel_batch": "batch",
}
FORMS: dict[str, dict[str, str]] = {
    "move": {"to": "bottom"},
    "move_workflow": {"to": "top"},
    "priority": {"priority": "5"},
    "priority_workflow": {"priority": "5"},
    "reschedule": {"minutes": "5"},
    "pause_type": {"type": "noop"},
    "resume_type": {"type": "noop"},
    "breaker": {"state": "open"},
    "replay_queue": {"limit": "10"},
}
FIRST |= {"resume": pause_queue, "resume_type": pause_type, "resume_schedule": pause_schedule}

# Buttons and actions of the admin, by model: which row of the world they are for.
JOBS_OF_ADMIN = {
    "cancel": "queued",
    "cancel_all": "queued",
    "retry": "scheduled",
    "retry_all": "scheduled",
    "replay": "dead",
    "replay_all": "dead",
    "duplicate": "queued",
    "duplicate_all": "queued",
    "approve": "asking",
    "approve_all": "asking",
    "reject": "asking",
    "reject_all": "asking",
    "pause": "queued",
    "pause_all": "queued",
    "resume": "paused",
    "resume_all": "paused",
    "run_next": "scheduled",
    "run_next_all": "scheduled",
    "move_up": "queued",
    "move_down": "queued",
    "move_to_bottom": "queued",
    "set_priority": "queued",
    "reschedule": "queued",
    "reassign": "scheduled",
}
WORKFLOWS_OF_ADMIN = {"resume": "held_back", "resume_all": "held_back", "retry": "broken", "retry_all": "broken"}
DATA_OF_ADMIN: dict[str, Any] = {
    "set_priority": {"confirmed": "yes", "priority": "7"},
    "approve_all": {"confirmed": "yes", "note": "fine"},
    "reject_all": {"confirmed": "yes", "note": "not this"},
    "reschedule": {"confirmed": "yes", "minutes": "5"},
    "reassign": {"confirmed": "yes", "worker": ""},
    "pause_because": {"confirmed": "yes", "reason": "lunch", "until": ""},
    "purge_all": {"confirmed": "yes"},
}
FIRST_OF_ADMIN: dict[tuple[str, str], Callable[[World], None]] = {
    ("Queue", "resume"): pause_queue,
    ("Queue", "resume_all"): pause_queue,
    ("Queue", "close_breaker"): open_breaker,
    ("Queue", "close_breakers"): open_breaker,
    ("Schedule", "resume"): pause_schedule,
    ("Schedule", "resume_all"): pause_schedule,
    ("PausedType", "resume"): pause_type,
    ("PausedType", "resume_all"): pause_type,
}
