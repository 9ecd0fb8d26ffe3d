"""What jobs do: the registry of handlers. Plain Python, so that every room may ask it.

    @handler("image.thumbnail", timeout=30)
    def thumbnail(ctx, payload): ...

    @handler("report.build", retry_on=(TimeoutError,), discard_on=(ValueError,))
    class Build:
        def process(self, job: Context) -> Result: ...

The runtime imports `handlers.py` of every installed app. A handler may be a coroutine function
(it runs as a task), a function (it runs in a thread) or a class with `process(job)`.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from uuid import UUID


class Retry(Exception):
    """Fail this attempt and run again: after the given time, or as the policy says."""

    after: float | None = None  # for a subclass whose __init__ does not call this one

    def __init__(self, reason: str = "", *, after: timedelta | float | None = None) -> None:
        super().__init__(reason)
        self.after = _seconds(after)


class Snooze(Exception):
    """Run later without spending an attempt."""

    after: float = 0.0

    def __init__(self, reason: str = "", *, after: timedelta | float) -> None:
        super().__init__(reason)
        self.after = _seconds(after) or 0.0


class NeedsApproval(Exception):
    """End this attempt and ask a person. `result` is kept, and at hand as ctx.result when the job goes on."""

    result: Any = None  # for a subclass whose __init__ does not call this one

    def __init__(self, result: Any = None, reason: str = "") -> None:
        super().__init__(reason)
        self.result = result


class Discard(Exception):
    """Fail for good: no attempt is left, whatever the policy says."""


@dataclass(frozen=True, slots=True)
class Publish:
    """A follow-up job of the same queue, inserted in the transaction that reports success; see Context.enqueue."""

    type: str
    payload: Any = None
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """What a class-based handler returns: the job's result and the jobs that follow."""

    data: Any = None
    next_jobs: Iterable[Publish] = ()


class Context(Protocol):
    """What a handler knows of its job, and what it may say while it runs."""

    @property
    def job_id(self) -> UUID: ...

    @property
    def type(self) -> str: ...

    @property
    def queue(self) -> str:
        """Its full name, organization/project/queue."""

    @property
    def payload(self) -> Any: ...

    @property
    def attempt(self) -> int:
        """1, 2, 3 …"""

    @property
    def max_attempts(self) -> int: ...

    @property
    def fence(self) -> int: ...

    @property
    def generation(self) -> int: ...

    @property
    def deadline_at(self) -> datetime: ...

    @property
    def request_id(self) -> str | None:
        """The request that submitted it."""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of one generation: give it to the service you call."""

    @property
    def approved(self) -> bool:
        """True when somebody approved the job before this attempt."""

    @property
    def approval_note(self) -> str:
        """What the approver said."""

    @property
    def result(self) -> Any:
        """The result an earlier attempt asked for approval with: go on from there. None where none did."""

    @property
    def cancelled(self) -> bool:
        """True when the job should stop: cancelled, past its deadline, or no longer this worker's."""

    def progress(self, done: int, total: int | None = None, stage: str = "", note: str = "") -> None:
        """Say how far the work is; the last one counts and travels with the next heartbeat."""

    def log(self, message: str, level: str = "info") -> None:
        """Keep a line with this attempt."""

    def save(self, name: str, file: bytes | BinaryIO) -> str:
        """Keep a result file; answers the address it is served at. Names are plain, at most 128 characters."""

    @property
    def workspace(self) -> Path:
        """A folder of this worker's, made when first asked for.

        Jobs of one workflow share it here, until the workflow is over; a job without one has its own until it ends.
        """

    def enqueue(self, type: str, payload: Any = None, **fields: Any) -> UUID:
        """A job of the same queue that is made when this attempt succeeds, in the same transaction; answers its id.

        Fields are those of `submit` but for depends_on, on_parent_failure and retry_policy. An attempt that fails, is
        cancelled or has lost its job makes none. Raises BadInput naming the field.
        """

    def fenced(self) -> AbstractContextManager[None]:
        """A database transaction whose writes are committed only while this attempt still owns its job.

        Raises LeaseLost where it does not. Keep it short: until it ends, the job cannot be reported.
        """


# The job that runs in this task or thread: log lines name it (config/logs.py).
current: ContextVar[Context | None] = ContextVar("current", default=None)


@dataclass(frozen=True, slots=True)
class Loop:
    """Something a scheduler does again and again; safe anywhere, at once, again. `loops.py` of an app lists LOOPS.

    `run` is a coroutine function that takes an asynchronous connection, or a plain function that
    uses Django's. It may answer the seconds until it wants to run next, at most `seconds`. A coroutine
    function with a `channel` runs at once when it is notified there.
    """

    name: str
    run: Callable[..., Any]
    seconds: float
    channel: str = ""


type Function = Callable[..., Any]
type Exceptions = tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """One registered handler. `timeout` in seconds bounds an attempt where neither the job nor a limit of it does."""

    type: str
    call: Function
    is_async: bool
    timeout: float | None = None
    retry_on: Exceptions = ()
    discard_on: Exceptions = ()
    aliases: tuple[str, ...] = ()


_registry: dict[str, Handler] = {}


def handler(
    type: str,
    *,
    timeout: float | None = None,
    retry_on: Exceptions = (),
    discard_on: Exceptions = (),
    aliases: tuple[str, ...] = (),
) -> Callable[[Function], Function]:
    """Register a function or class for a job type. Registering a type twice raises ValueError."""

    def register(function: Function) -> Function:
        call = _as_function(function)
        entry = Handler(
            type=type,
            call=call,
            is_async=inspect.iscoroutinefunction(call),
            timeout=timeout,
            retry_on=retry_on,
            discard_on=discard_on,
            aliases=aliases,
        )
        for name in (type, *aliases):
            known = _registry.get(name)
            if known and (known.call.__module__, known.type) != (call.__module__, type):
                raise ValueError(f"Two handlers for the job type {name!r}.")
            _registry[name] = entry
        return function

    return register


def find(type: str) -> Handler | None:
    """Look up the handler of a job type or of an old name of it."""
    return _registry.get(type)


def with_aliases(types: Iterable[str]) -> tuple[str, ...]:
    """These types and every other name their handlers have."""
    found = {name: one for name in types if (one := find(name))}
    names = [other for one in found.values() for other in (one.type, *one.aliases)]
    return tuple(dict.fromkeys([*types, *names]))


def types() -> list[str]:
    """Every type there is a handler for, old names included."""
    return sorted(_registry)


def _as_function(function: Function) -> Function:
    """Wrap a class with `process(job)` so that it is called like a function."""
    if not inspect.isclass(function):
        return function
    instance: Any = function()
    process = instance.process
    if inspect.iscoroutinefunction(process):

        async def call_later(ctx: Context, payload: Any) -> Any:
            return await process(ctx)

        call_later.__module__ = function.__module__
        return call_later

    def call(ctx: Context, payload: Any) -> Any:
        return process(ctx)

    call.__module__ = function.__module__
    return call


def _seconds(after: timedelta | float | None) -> float | None:
    """Seconds as a number; what is none is the handler's mistake, and fails its attempt as such."""
    seconds: Any = after.total_seconds() if isinstance(after, timedelta) else after
    if seconds is None:
        return None
    if not isinstance(seconds, int | float) or not math.isfinite(seconds):
        raise ValueError(f"after must be a number of seconds or a timedelta, not {after!r}.")
    return float(seconds)
