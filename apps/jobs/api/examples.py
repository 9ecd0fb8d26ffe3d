"""What the document shows of each body and answer."""

ID = "01a22856-3bac-754a-b89f-8e8e9e32e5c7"
JOB_ID = "01a22857-0c1d-7be2-9d0a-3f5c8e6a1b20"
AT = "2027-03-14T07:00:00Z"

ASK = {"type": "image.thumbnail", "payload": {"path": "a.png"}, "priority": 5, "labels": {"album": "2027"}}
RECEIPT = {"id": JOB_ID, "queue": ID, "type": "image.thumbnail", "state": "queued", "is_new": True}
JOB = {
    "id": JOB_ID,
    "queue": ID,
    "queue_name": "thumbnails",
    "type": "image.thumbnail",
    "state": "running",
    "reason": None,
    "priority": 5,
    "position": None,
    "run_at": AT,
    "created_at": AT,
    "started_at": "2027-03-14T07:00:01Z",
    "finished_at": None,
    "elapsed_seconds": 2.5,
    "attempt": 1,
    "max_attempts": 5,
    "stage": "scaling",
    "done": 3,
    "total": 10,
    "last_error": None,
    "result_url": None,
    "cancel_requested": False,
    "labels": {"album": "2027"},
    "workflow": None,
    "batch": None,
    "submitted_by": ID,
    "required_worker": None,
    "assigned_worker": None,
}
QUEUED = {**JOB, "state": "queued", "started_at": None, "stage": None, "done": None, "total": None}
CANCELLED = {**JOB, "cancel_requested": True, "cancelling": True}
LINE = {"attempt": 1, "line": 1, "at": AT, "level": "info", "message": "opened a.png"}
ATTEMPT = {
    "attempt": 1,
    "generation": 1,
    "fence": "1805007601000000",
    "worker": "press-1",
    "started_at": "2027-03-14T07:00:01Z",
    "finished_at": None,
    "outcome": None,
    "error_class": None,
    "error_message": None,
    "traceback": None,
    "runtime": None,
    "logs": [LINE],
}
DETAIL = {
    **JOB,
    "generation": 1,
    "losses": 0,
    "max_losses": 3,
    "snoozes": 0,
    "max_snoozes": 100,
    "timeout_ms": None,
    "retry_policy": None,
    "on_parent_failure": None,
    "unique_key": None,
    "concurrency_key": None,
    "placement": "any",
    "requires_approval": False,
    "approval": None,
    "pending_parents": 0,
    "payload": {"path": "a.png"},
    "result": None,
    "earlier_payloads": [],
    "payload_hidden": False,
    "note": None,
    "why_waiting": None,
    "lease": {
        "worker": "press-1",
        "session": ID,
        "fence": "1805007601000000",
        "expires_at": "2027-03-14T07:00:31Z",
        "deadline_at": "2027-03-14T07:05:01Z",
    },
    "attempts": [ATTEMPT],
    "parents": [],
    "children": [],
    "files": [],
}
DEAD = {
    "job": JOB_ID,
    "queue": ID,
    "queue_name": "thumbnails",
    "type": "image.thumbnail",
    "reason": "attempts_exhausted",
    "priority": 5,
    "attempt": 5,
    "max_attempts": 5,
    "created_at": AT,
    "died_at": "2027-03-14T07:10:00Z",
    "last_error_class": "OSError",
    "last_error_message": "a.png: No such file or directory",
    "replayable": True,
    "blocked_by": [],
}
WORKER = {
    "uid": "press-1",
    "hostname": "press",
    "pid": 4711,
    "state": "live",
    "concurrency": 10,
    "pools": {"default": 2, "media": 8},
    "held_jobs": 1,
    "types": ["image.thumbnail"],
    "version": "0.1.0",
    "started_at": AT,
    "last_seen_at": "2027-03-14T07:00:21Z",
    "sample": None,
    "capabilities": None,
}

LINE_ITEM = {
    **JOB,
    "workflow": ID,
    "workflow_name": "spring catalogue",
    "assigned_worker": "press-1",
    "paused": False,
    "attempts": 1,
    "waiting_seconds": None,
    "retry_at": None,
    "can_retry": False,
}
LINE_OF_PROJECT = {
    "pending": [],
    "more": False,
    "workers": [{"worker": "press-1", "state": "live", "items": [LINE_ITEM], "more": False}],
}


def page(item: object) -> dict[str, object]:
    """A page with one item."""
    return {"results": [item], "next": None, "previous": None}


NEW_SCHEDULE = {
    "name": "nightly",
    "cron_expr": "30 2 * * 1-5",
    "timezone": "America/New_York",
    "job_type": "report.build",
    "payload": {"days": 1},
    "deadline_seconds": 7200,
}
SCHEDULE = {
    "id": ID,
    "queue": ID,
    **NEW_SCHEDULE,
    "payload_hidden": False,
    "priority": None,
    "overlap_policy": "skip",
    "catchup_policy": "skip",
    "catchup_max": 10,
    "jitter_seconds": 0,
    "next_run_at": "2027-03-15T06:30:00Z",
    "last_job": JOB_ID,
    "paused": None,
    "trouble": None,
    "created_at": AT,
}
PAUSED_SCHEDULE = {
    **SCHEDULE,
    "next_run_at": None,
    "paused": {"at": AT, "by": "ada@example.com", "reason": "holidays"},
}
TICK = {
    "scheduled_for": "2027-03-12T07:30:00Z",
    "outcome": "fired",
    "why": "",
    "fired_at": "2027-03-12T07:30:00.041Z",
    "job": JOB_ID,
    "deadline_at": "2027-03-12T09:30:00Z",
    "late": False,
}
PREVIEW = {
    "timezone": "America/New_York",
    "viewer_timezone": "Europe/Berlin",
    "results": [
        {
            "at": "2027-03-15T06:30:00Z",
            "local": "2027-03-15T02:30:00-04:00",
            "viewer": "2027-03-15T07:30:00+01:00",
            "jitter_seconds": 0.0,
        }
    ],
}

NEW_WORKFLOW = {
    "name": "film 7",
    "priority": 5,
    "jobs": [
        {"name": "script", "queue": "texts", "type": "film.script", "payload": {"film": 7}},
        {"name": "voice", "queue": "media", "type": "film.voice", "depends_on": ["script"]},
    ],
}
BEGUN = {
    "workflow": ID,
    "jobs": [
        {"id": JOB_ID, "queue": ID, "type": "film.script", "state": "queued", "is_new": True, "name": "script"},
        {"id": ID, "queue": ID, "type": "film.voice", "state": "blocked", "is_new": True, "name": "voice"},
    ],
}
WORKFLOW = {
    "id": ID,
    "project": ID,
    "name": "film 7",
    "state": "running",
    "counts": {"completed": 1, "running": 1},
    "jobs": 2,
    "percent": 50.0,
    "priority": 5,
    "generation": 1,
    "created_at": AT,
    "paused_at": None,
    "cancelled_at": None,
    "submitted_by": ID,
    "labels": None,
    "required_worker": None,
    "assigned_worker": "press-2",
    "dedicated": False,
}
STEP = {
    "id": JOB_ID,
    "name": "script",
    "queue": ID,
    "queue_name": "texts",
    "type": "film.script",
    "state": "completed",
    "reason": None,
    "priority": 5,
    "pending_parents": 0,
    "run_at": AT,
    "attempt": 1,
    "max_attempts": 5,
    "started_at": AT,
    "finished_at": "2027-03-14T07:00:02.500Z",
    "elapsed_seconds": 2.5,
    "stage": None,
    "done": None,
    "total": None,
    "last_error": None,
    "cancel_requested": False,
    "result": {"words": 412},
    "layer": 0,
    "column": 0,
}
WORKFLOW_DETAIL = {
    **WORKFLOW,
    "steps": [STEP, {**STEP, "id": ID, "name": "voice", "type": "film.voice", "layer": 1, "result": None}],
    "edges": [{"parent": JOB_ID, "child": ID}],
    "more": False,
    "payload_hidden": False,
}
BATCH = {
    "id": ID,
    "project": ID,
    "queue": ID,
    "size": 10,
    "counts": {"completed": 6, "running": 1, "queued": 3},
    "left": 4,
    "percent": 60.0,
    "created_at": AT,
    "finished_at": None,
    "elapsed_seconds": 30.0,
    "remaining_seconds": 20.0,
    "completed_at": None,
    "on_complete_job": None,
    "submitted_by": ID,
}

RESERVATION = {
    "id": "01939f2c-5f00-7000-8000-0000000000d1",
    "workflow": "01939f2c-5f00-7000-8000-0000000000d2",
    "worker": "press-2",
    "state": "bound",
    "generation": 1,
    "last_error": "",
    "created_at": "2027-03-14T07:00:00Z",
    "released_at": None,
}
