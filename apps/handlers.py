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
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, BinaryIO, Protocol
from uuid import UUID


class Retry(Exception):  # noqa: N818 — an instruction, not an error
    """Fail this attempt and run again: after the given time, or as the policy says."""

    def __init__(self, reason: str = "", *, after: timedelta | float | None = None) -> None:
        super().__init__(reason)
        self.after = _seconds(after)


class Snooze(Exception):  # noqa: N818
    """Run later without spending an attempt."""

    def __init__(self, reason: str = "", *, after: timedelta | float) -> None:
        super().__init__(reason)
        self.after = _seconds(after) or 0.0


class Discard(Exception):  # noqa: N818
    """Fail for good: no attempt is left, whatever the policy says."""


@dataclass(frozen=True, slots=True)
class Publish:
    """A follow-up job of the same queue, inserted in the transaction that reports success."""

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

    job_id: UUID
    type: str
    queue: str  # "org/project/queue"
    payload: Any
    attempt: int  # 1, 2, 3 …
    max_attempts: int
    fence: int
    generation: int
    deadline_at: datetime

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of one generation: give it to the service you call."""

    @property
    def cancelled(self) -> bool:
        """True when the job should stop: cancelled, past its deadline, or no longer this worker's."""

    def progress(self, done: int, total: int | None = None, stage: str = "", note: str = "") -> None:
        """Say how far the work is; the last one counts and travels with the next heartbeat."""

    def log(self, message: str, level: str = "info") -> None:
        """Keep a line with this attempt."""

    def save(self, name: str, file: bytes | BinaryIO) -> str:
        """Keep a result file; answers the address it is served at. Names are plain, at most 128 characters."""


type Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """One registered handler. `timeout` in seconds bounds an attempt where neither the job nor a limit of it does."""

    type: str
    call: Function
    is_async: bool
    timeout: float | None = None
    retry_on: tuple[type[BaseException], ...] = ()
    discard_on: tuple[type[BaseException], ...] = ()
    aliases: tuple[str, ...] = ()


_registry: dict[str, Handler] = {}


def handler(
    type: str,
    *,
    timeout: float | None = None,
    retry_on: tuple[type[BaseException], ...] = (),
    discard_on: tuple[type[BaseException], ...] = (),
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


def types() -> list[str]:
    """Every type there is a handler for, old names included."""
    return sorted(_registry)


def _as_function(function: Function) -> Function:
    """Wrap a class with `process(job)` so that it is called like a function."""
    if not inspect.isclass(function):
        return function
    process = function().process
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
    return after.total_seconds() if isinstance(after, timedelta) else after
