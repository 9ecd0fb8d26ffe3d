"""What a handler's end means: a result to keep, a failure to retry, a wish to run later."""

import json
import re
import signal
import traceback
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.errors import BadInput
from apps.handlers import Discard, NeedsApproval, Result, Retry, Snooze
from apps.jobs.engine.report import LONGEST_MS, Ended
from apps.jobs.states import Outcome
from apps.runtime.executor.follow import follow_all
from apps.runtime.executor.forkserver import Death
from apps.runtime.executor.run import Run, Stop, clean

MESSAGE_MAX = 4096
TRACEBACK_MAX = 65_536
NAME_MAX = 255
CHAIN_MAX = 20  # causes of an exception that are looked at

# json.dumps writes a NUL as \u0000; an even number of backslashes before it are characters of their own.
_NUL = re.compile(r"((?<!\\)(?:\\\\)*)\\u0000")

STOPPED = {
    Stop.CANCELLED: (Outcome.CANCELLED, "Cancelled", "The job was cancelled while it ran."),
    Stop.TIMEOUT: (Outcome.TIMEOUT, "TimedOut", "The attempt ran longer than its time limit."),
    Stop.RELEASED: (Outcome.RELEASED, None, None),
}


def judge(run: Run, session_id: UUID, answer: Any, *, fine: bool) -> Ended | None:
    """What a handler's answer, or the exception that came out of it, becomes. Never raises, whatever those do."""
    try:
        return succeeded(run, session_id, answer) if fine else failed(run, session_id, answer)
    except BaseException as error:  # noqa: BLE001 — an answer's or an exception's own methods may do anything
        what = "result" if fine else "exception"
        name = class_name(error)
        return _refused(
            run, session_id, "OutcomeUnreadable", f"Reading the {what} raised {name}.", Outcome.RETRYABLE_ERROR
        )


def succeeded(run: Run, session_id: UUID, answer: Any) -> Ended | None:
    """What a handler's answer becomes, given what it was told meanwhile."""
    if run.stop is Stop.LOST:
        return None
    if run.stop is Stop.TIMEOUT:
        return stopped(run, session_id)
    data = answer
    if isinstance(answer, Result):
        data = answer.data
        try:
            follow_all(run, answer.next_jobs)
        except BadInput as error:
            return _refused(run, session_id, "FollowUpRefused", str(error))
    return _kept(run, session_id, Outcome.SUCCESS, data)


def _kept(run: Run, session_id: UUID, outcome: Outcome, data: Any, error: BaseException | None = None) -> Ended:
    """The end of a run that has something to keep; what cannot be kept ends the job with an error that says so."""
    if data is None:
        return _ended(run, session_id, outcome, error=error)
    try:
        text = clean(json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":")))
        text = _NUL.sub(r"\1\\ufffd", text)
    except (TypeError, ValueError, RecursionError) as worse:
        return _refused(run, session_id, "ResultNotSerialisable", f"The result is not JSON: {_text(worse)}")
    size, limit = len(text.encode()), settings.PAYLOAD_MAX_BYTES
    if size > limit:
        return _refused(run, session_id, "ResultTooLarge", f"The result has {size} bytes; the limit is {limit}.")
    return _ended(run, session_id, outcome, result=text, error=error)


def failed(run: Run, session_id: UUID, error: BaseException) -> Ended | None:
    """What an exception out of a handler becomes."""
    if run.stop is Stop.LOST:
        return None
    if run.stop is not None:
        return stopped(run, session_id)
    if isinstance(error, Snooze):
        return _ended(run, session_id, Outcome.SNOOZED, delay_ms=_ms(error.after), error=error)
    if isinstance(error, NeedsApproval):
        return _kept(run, session_id, Outcome.NEEDS_APPROVAL, error.result, error)
    if isinstance(error, (Discard, *run.handler.discard_on)):
        return _ended(run, session_id, Outcome.PERMANENT_ERROR, error=error)
    delay_ms = _ms(error.after) if isinstance(error, Retry) and error.after is not None else None
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


def unstarted(run: Run, session_id: UUID, error: BaseException) -> Ended:
    """There was nothing to run it in; it spends no attempt."""
    return collateral(run, session_id, f"It could not be started: {_text(error)}"[:MESSAGE_MAX])


def undecodable(run: Run, session_id: UUID, error: BaseException) -> Ended:
    """A payload that cannot be read is set aside at once, never left running."""
    return _refused(run, session_id, "PayloadUnreadable", _text(error))


def _refused(run: Run, session_id: UUID, name: str, message: str, outcome: Outcome = Outcome.PERMANENT_ERROR) -> Ended:
    return Ended(
        job_id=run.claim.job_id,
        fence=run.claim.fence,
        session_id=session_id,
        outcome=outcome.value,
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
        error_class=None if error is None else cut(class_name(error), NAME_MAX),
        error_message=None if error is None else cut(_text(error), MESSAGE_MAX),
        traceback=None if error is None else cut(_trace(error), TRACEBACK_MAX),
        follow=tuple(run.follow) if outcome is Outcome.SUCCESS else (),
        request_id=run.claim.request_id,
        workflow_id=run.claim.workflow_id,
    )


def _ms(seconds: float) -> int:
    return round(min(max(seconds * 1000, 0), LONGEST_MS))


def class_name(error: BaseException) -> str:
    """The name its class was made with: a metaclass may say otherwise, or raise."""
    name: str = type.__dict__["__name__"].__get__(type(error))
    return name


def cut(text: str, most: int) -> str:
    """Make a text storable and not longer than `most`, saying how much is missing."""
    if len(text) > most:
        text = f"{text[:most]}… [{len(text) - most} characters cut]"
    return clean(text)


def _text(error: BaseException) -> str:
    try:
        return str.__str__(str(error))  # a plain one: a subclass of str may do anything
    except BaseException as worse:  # noqa: BLE001 — an exception's own __str__ may do anything
        return f"<str() of this {class_name(error)} raised {class_name(worse)}>"


def _is_long(error: BaseException | None) -> bool:
    """Whether a text in its chain is so long that formatting it would take many times its memory."""
    for _ in range(CHAIN_MAX):
        if error is None:
            return False
        if len(_text(error)) > TRACEBACK_MAX:
            return True
        error = error.__cause__ or error.__context__
    return False


def _trace(error: BaseException) -> str:
    if isinstance(error, Snooze | Discard | NeedsApproval):
        return ""
    if _is_long(error):
        lines = traceback.format_tb(error.__traceback__, limit=50)
        return "".join([*lines, f"{class_name(error)}: its text, or that of a cause, is too long to be shown here."])
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=50))
    except BaseException as worse:  # noqa: BLE001
        return f"<the traceback could not be written: {class_name(worse)}>"


def crashed(run: Run, session_id: UUID, death: Death, company: int, traceback: str) -> Ended:
    """The end of a run whose process died, by its fault or by that of one of the `company` that ran beside it."""
    message = f"The process that ran it {_how(death)}"
    message += f", and {company} more {'job' if company == 1 else 'jobs'} ran in it." if company else "."
    runtime: dict[str, float | None] = {"peak_memory_bytes": death.peak_bytes, "cpu_seconds": round(death.seconds, 3)}
    runtime |= {"signal": death.signal} if death.signal else {"exit": death.exit}
    return Ended(
        job_id=run.claim.job_id,
        fence=run.claim.fence,
        session_id=session_id,
        outcome=Outcome.CRASHED.value,
        error_class="Crashed",
        error_message=message,
        traceback=cut(traceback, TRACEBACK_MAX) or None,
        runtime=json.dumps(runtime),
    )


def collateral(run: Run, session_id: UUID, why: str) -> Ended:
    """The end of a run that lost its process through no fault of its own: it spends no attempt."""
    return Ended(
        job_id=run.claim.job_id,
        fence=run.claim.fence,
        session_id=session_id,
        outcome=Outcome.RELEASED.value,
        error_class="Collateral",
        error_message=why,
    )


def _how(death: Death) -> str:
    if death.signal is None:
        return f"ended with exit status {death.exit}"
    try:
        name = signal.Signals(death.signal).name
    except ValueError:
        name = f"signal {death.signal}"
    return f"was ended by {name} (it had used {death.peak_bytes / 2**20:.0f} MiB at most)"
