"""A job as a Fencepost worker's handler has it in hand, and how its attempt ends."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable
from typing import Any

LEVELS = ("debug", "info", "warning", "error", "critical")


class Retry(Exception):
    """Run it again after so many seconds."""

    def __init__(self, after: float | None = None) -> None:
        super().__init__(f"retry after {after} s")
        self.after = after


class Snooze(Retry):
    """Not now: run it later, and count no attempt."""


class Discard(Exception):
    """It will never succeed."""


class NeedsApproval(Exception):
    """Let a person look at this result first; the job runs again when they approve, and finds `approved`."""

    def __init__(self, result: Any = None) -> None:
        super().__init__("a person is to look first")
        self.result = result


class Job:
    """One attempt."""

    def __init__(self, claim: dict[str, Any], session: str) -> None:
        self.claim, self.session = claim, session
        self.id, self.fence = str(claim["job"]), str(claim["fence"])
        self.type, self.payload, self.attempt = claim["type"], claim["payload"], int(claim["attempt"])
        self.idempotency_key = str(claim["idempotency_key"])
        self.approved: dict[str, Any] | None = claim.get("approved")  # note, and the result it asked with
        self.ends_at = time.monotonic() + claim["limit_ms"] / 1000
        self.stopped = ""  # cancelled or lost
        self.told: dict[str, Any] | None = None
        self.lines: list[dict[str, Any]] = []
        self.numbered = 0
        self.next_jobs: list[dict[str, Any]] = []

    @property
    def pair(self) -> dict[str, str]:
        return {"job": self.id, "fence": self.fence}

    @property
    def cancelled(self) -> bool:
        return bool(self.stopped) or time.monotonic() > self.ends_at

    def progress(self, done: int, total: int | None = None, stage: str = "", note: str = "") -> None:
        """Say how far it is; the next heartbeat carries it. What the server could not keep would cost it all jobs."""
        total = None if total is None else _whole(total)
        texts = {"stage": _storable(str(stage))[:128], "note": _storable(str(note))[:1000]}
        self.told = {**self.pair, "done": _whole(done), "total": total, **texts}

    def log(self, message: str, level: str = "info") -> None:
        """Keep a line with the attempt."""
        self.numbered += 1
        level, text = level if level in LEVELS else "info", _storable(str(message))[:8192]
        self.lines.append({**self.pair, "line": self.numbered, "level": level, "message": text})

    def enqueue(self, type: str, payload: Any = None, **fields: Any) -> None:
        """Make another job in the same queue, together with this one's success."""
        self.next_jobs.append({"type": type, "payload": payload, **fields})

    def take_lines(self) -> list[dict[str, Any]]:
        lines, self.lines = self.lines, []
        return lines


def outcome(handler: Callable[[Job], Any], job: Job) -> dict[str, Any]:
    """Run a handler; how that ended, as it is reported."""
    try:
        end = {"outcome": "success", "result": handler(job), "next_jobs": job.next_jobs}
        json.dumps(end)  # what cannot be written is the handler's error, not the reporter's
    except Snooze as error:
        end = {"outcome": "snoozed", "delay_ms": round((error.after or 0) * 1000)}
    except NeedsApproval as error:
        end = {"outcome": "needs_approval", "result": _writable(error.result)}
    except BaseException as error:  # noqa: BLE001 — whatever a handler raises, SystemExit too, is the job's error
        end = _error(error)
    if time.monotonic() > job.ends_at:
        return {"outcome": "timeout", "error_class": "TimedOut", "error_message": "It ran longer than its time limit."}
    return {"outcome": "cancelled"} if job.stopped == "cancelled" else end


def _writable(value: Any) -> Any:
    """A result as JSON can have it; of one that it cannot have, what it looks like."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return repr(value)
    return value


def _whole(number: float) -> int:
    return max(0, min(int(number), 2**53 - 1))


def _storable(text: str) -> str:
    """Without what the server cannot keep: NUL, and halves of characters."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _error(error: BaseException) -> dict[str, Any]:
    outcome = "permanent_error" if isinstance(error, Discard) else "retryable_error"
    told: dict[str, Any] = {
        "outcome": outcome,
        "error_class": type(error).__name__,
        "error_message": _storable(str(error)),
        "traceback": _storable("".join(traceback.format_exception(type(error), error, error.__traceback__))),
    }
    if isinstance(error, Retry) and error.after is not None:
        told["delay_ms"] = round(error.after * 1000)
    return told
