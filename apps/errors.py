"""Refusals a caller can understand. Services raise them; config/api.py turns them into problem+json.

Refusal                          400
├── BadInput                     400   carries pointers to the fields
│   └── UnknownField             400
├── NotAuthenticated             401
├── Forbidden                    403
├── NotFound                     404
├── Conflict                     409
│   ├── Taken                          carries a pointer to the field
│   ├── LeaseLost
│   ├── SessionOver
│   ├── IllegalMove
│   ├── KeyTaken
│   ├── NotReplayable
│   ├── IdempotencyMismatch
│   ├── IdempotencyInFlight
│   ├── InUse
│   ├── WorkerUnavailable
│   ├── CursorTooOld
│   └── CursorAhead
├── Gone                         410
├── TooLarge                     413
├── TooManyRequests              429
│   └── QueueFull
└── Unavailable                  503
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input: a JSON pointer ("#/jobs/3/priority") and a sentence."""

    pointer: str
    detail: str


def pointed(name: str) -> str:
    """A key as a JSON pointer has it, and so that it can be sent back: no NUL, no lone surrogate."""
    clean = name.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
    return clean.replace("~", "~0").replace("/", "~1")


def printable(text: str) -> str:
    """A text on one line of a terminal or a log, acting as nothing: what cannot be seen is shown as Python writes it."""
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


class Refusal(Exception):
    """The request was refused."""

    code = "refused"
    status = 400

    def __init__(
        self,
        detail: str = "",
        *,
        errors: list[Fault] | None = None,
        retry_after: int | None = None,
        **extra: object,
    ) -> None:
        super().__init__(detail or self.__doc__)
        self.errors = errors or []
        self.retry_after = retry_after
        self.extra = extra


class BadInput(Refusal):
    """The input is not valid."""

    code = "bad_input"

    @classmethod
    def at(cls, pointer: str, detail: str) -> "BadInput":
        """Refuse one field: `pointer` is a JSON pointer such as "#/priority"."""
        return cls(f"{pointer}: {detail}", errors=[Fault(pointer, detail)])


class UnknownField(BadInput):
    """The input has a field that does not exist."""

    code = "unknown_field"


class NotAuthenticated(Refusal):
    """Log in, or send a valid token."""

    code, status = "not_authenticated", 401


class Forbidden(Refusal):
    """Your role does not allow this."""

    code, status = "forbidden", 403


class NotFound(Refusal):
    """There is no such thing, or it is not yours."""

    code, status = "not_found", 404


class Conflict(Refusal):
    """Something is in a state that does not allow this."""

    code, status = "conflict", 409


class Taken(Conflict):
    """This name, slug or address is taken."""

    @classmethod
    def by(cls, fault: Fault) -> "Taken":
        """Refuse one field whose value another row has; the sentence alone is the detail."""
        return cls(fault.detail, errors=[fault])


class LeaseLost(Conflict):
    """This lease is no longer held: the job was finished, cancelled or given away."""

    code = "lease_lost"


class SessionOver(Conflict):
    """This worker's session is over: it was ended, fell silent, or a newer one of the same name began."""

    code = "session_over"


class IllegalMove(Conflict):
    """The job is in a state that does not allow this."""

    code = "illegal_move"


class KeyTaken(Conflict):
    """Another live job holds this unique key."""

    code = "key_taken"


class NotReplayable(Conflict):
    """Replaying this job would leave cancelled descendants behind."""

    code = "not_replayable"


class IdempotencyMismatch(Conflict):
    """This Idempotency-Key was used for a different request."""

    code = "idempotency_mismatch"


class IdempotencyInFlight(Conflict):
    """The first request with this Idempotency-Key is still running."""

    code = "idempotency_in_flight"


class InUse(Conflict):
    """Something else still uses this."""

    code = "in_use"


class WorkerUnavailable(Conflict):
    """This worker takes no work now: it is silent, drains, is reserved, or cannot do it."""

    code = "worker_unavailable"

    @classmethod
    def at(cls, pointer: str, detail: str) -> "WorkerUnavailable":
        """Refuse one field that names a worker: `pointer` is a JSON pointer such as "#/required_worker"."""
        return cls(f"{pointer}: {detail}", errors=[Fault(pointer, detail)])


class CursorTooOld(Conflict):
    """The events after this cursor are no longer held; start again from the oldest one that is."""

    code = "cursor_too_old"


class CursorAhead(Conflict):
    """This cursor is not of this log's history; start again from its head."""

    code = "cursor_ahead"


class Gone(Refusal):
    """What this request made has since been pruned."""

    code, status = "gone", 410


class TooLarge(Refusal):
    """The body is too large."""

    code, status = "too_large", 413


class TooManyRequests(Refusal):
    """Too many requests; wait and try again."""

    code, status = "too_many_requests", 429


class QueueFull(TooManyRequests):
    """The queue holds as many jobs as it may; wait until some have been taken."""

    code = "queue_full"


class Unavailable(Refusal):
    """The database does not answer in time; try again."""

    code, status = "unavailable", 503
