"""Examples for the OpenAPI document."""

ID = "01a22856-3bac-754a-b89f-8e8e9e32e5c7"
QUEUE = "01a22856-3bac-7a11-9d3c-0f6f4f6a2b10"
FENCE = "1805266021000000"
PAIR = {"job": ID, "fence": FENCE}

BEGIN = {"uid": "press-7", "types": ["image.thumbnail"], "queues": ["media/images"], "concurrency": 4, "version": "2.3"}
SESSION = {
    "session": ID,
    "uid": "press-7",
    "organization": QUEUE,
    "queues": [QUEUE],
    "types": ["image.thumbnail"],
    "concurrency": 4,
    "lease_seconds": 30.0,
    "heartbeat_seconds": 10.0,
    "fenced": 0,
}
CLAIM = {"limit": 4, "wait_seconds": 30}
WORK = {
    **PAIR,
    "queue": QUEUE,
    "type": "image.thumbnail",
    "payload": {"path": "a.png"},
    "attempt": 1,
    "max_attempts": 5,
    "generation": 0,
    "losses": 0,
    "idempotency_key": f"{ID}-0",
    "deadline_at": "2027-03-14T07:05:00Z",
    "limit_ms": 300000,
    "approved": None,
    "workflow": None,
    "request_id": None,
}
BEAT = {
    "held": [PAIR],
    "progress": [{**PAIR, "done": 3, "total": 10, "stage": "resize"}],
    "logs": [{**PAIR, "line": 1, "level": "info", "message": "opened a.png"}],
}
BEATEN = {"cancel": [], "lost": [], "unknown": [], "drain": False}
REPORT = {
    "results": [
        {**PAIR, "outcome": "success", "result": {"width": 128}, "next_jobs": [{"type": "sheet.add", "payload": {}}]}
    ]
}
