"""What a handler's end means: a result to keep, a failure to retry, a wish to run later."""

import json
import re
import traceback
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.handlers import Discard, Result, Retry, Snooze
from apps.jobs.engine.report import Ended
from apps.jobs.states import Outcome
from apps.runtime.executor.run import Run, Stop

MESSAGE_MAX = 4096
TRACEBACK_MAX = 65_536
NAME_MAX = 255

# What PostgreSQL cannot hold is shown, not dropped: U+FFFD stands in its place.
_BAD = re.compile("[\x00\ud800-\udfff]")
# json.dumps writes a NUL as \u0000; an even number of backslashes before it are characters of their own.
_NUL = re.compile(r"((?<!\\)(?:\\\\)*)\\u0000")

STOPPED = {
    Stop.CANCELLED: (Outcome.CANCELLED, "Cancelled", "The job was cancelled while it ran."),
    Stop.TIMEOUT: (Outcome.TIMEOUT, "TimedOut", "The attempt ran longer than its time limit."),
    Stop.RELEASED: (Outcome.RELEASED, None, None),
}


def succeeded(run: Run, session_id: UUID, answer: Any) -> Ended | None:
    """What a handler's answer becomes, given what it was told meanwhile."""
    if run.stop is Stop.LOST:
        return None
    if run.stop is Stop.TIMEOUT:
        return stopped(run, session_id)
    data = answer.data if isinstance(answer, Result) else answer
    if data is None:
        return _ended(run, session_id, Outcome.SUCCESS)
    try:
        text = _BAD.sub("\ufffd", json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":")))
        text = _NUL.sub(r"\1\\ufffd", text)
    except (TypeError, ValueError, RecursionError) as error:
        return _refused(run, session_id, "ResultNotSerialisable", f"The result is not JSON: {_text(error)}")
    size, limit = len(text.encode()), settings.PAYLOAD_MAX_BYTES
    if size > limit:
        return _refused(run, session_id, "ResultTooLarge", f"The result has {size} bytes; the limit is {limit}.")
    return _ended(run, session_id, Outcome.SUCCESS, result=text)


def failed(run: Run, session_id: UUID, error: BaseException) -> Ended | None:
    """What an exception out of a handler becomes. Never raises, whatever the exception does."""
    if run.stop is Stop.LOST:
        return None
    if run.stop is not None:
        return stopped(run, session_id)
    if isinstance(error, Snooze):
        return _ended(run, session_id, Outcome.SNOOZED, delay_ms=round(error.after * 1000), error=error)
    if isinstance(error, (Discard, *run.handler.discard_on)):
        return _ended(run, session_id, Outcome.PERMANENT_ERROR, error=error)
    delay_ms = round(error.after * 1000) if isinstance(error, Retry) and error.after is not None else None
    retry_on = run.handler.retry_on
    if retry_on and not isinstance(error, (*retry_on, Retry)):
        return _ended(run, session_id, Outcome.PERMANENT_ERROR, error=error)
    return _ended(run, session_id, Outcome.RETRYABLE_ERROR, delay_ms=delay_ms, error=error)


def stopped(run: Run, session_id: UUID) -> Ended | None:
    """The end of a run that was told to stop."""
    if run.stop is None or run.stop is Stop.LOST:
        return None
    outcome, name, message = STOPPED[run.stop]
    return Ended(
        job_id=run.claim.job_id,
        fence=run.claim.fence,
        session_id=session_id,
        outcome=outcome.value,
        error_class=name,
        error_message=message,
    )


def undecodable(run: Run, session_id: UUID, error: BaseException) -> Ended:
    """A payload that cannot be read is set aside at once, never left running."""
    return _refused(run, session_id, "PayloadUnreadable", _text(error))


def _refused(run: Run, session_id: UUID, name: str, message: str) -> Ended:
    return Ended(
        job_id=run.claim.job_id,
        fence=run.claim.fence,
        session_id=session_id,
        outcome=Outcome.PERMANENT_ERROR.value,
        error_class=name,
        error_message=cut(message, MESSAGE_MAX),
    )


def _ended(
    run: Run,
    session_id: UUID,
    outcome: Outcome,
    *,
    result: str | None = None,
    delay_ms: int | None = None,
    error: BaseException | None = None,
) -> Ended:
    return Ended(
        job_id=run.claim.job_id,
        fence=run.claim.fence,
        session_id=session_id,
        outcome=outcome.value,
        result=result,
        delay_ms=delay_ms,
        error_class=None if error is None else cut(type(error).__name__, NAME_MAX),
        error_message=None if error is None else cut(_text(error), MESSAGE_MAX),
        traceback=None if error is None else cut(_trace(error), TRACEBACK_MAX),
    )


def cut(text: str, most: int) -> str:
    """Make a text storable and not longer than `most`, saying how much is missing."""
    if len(text) > most:
        text = f"{text[:most]}… [{len(text) - most} characters cut]"
    return _BAD.sub("\ufffd", text)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as worse:  # noqa: BLE001 — an exception's own __str__ may do anything
        return f"<str() of this {type(error).__name__} raised {type(worse).__name__}>"


def _trace(error: BaseException) -> str:
    if isinstance(error, Snooze | Discard):
        return ""
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=50))
    except BaseException as worse:  # noqa: BLE001
        return f"<the traceback could not be written: {type(worse).__name__}>"
