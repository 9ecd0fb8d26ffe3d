"""The one module that opens a cursor. A Statement is one .sql file, sent either way:

* called, it runs on Django's connection, inside whatever transaction is open there;
* `on(connection, …)` runs it on an asynchronous psycopg connection (the worker's supervisor).

A Verb is a few statements with Python between them, written once as a generator that yields
them with `ask`; it too can be called or sent `on` a connection, and is one transaction either way.
Both use server-side parameters, so PostgreSQL may keep the plan (DB_PREPARE_THRESHOLD).
`trouble` says what an error of the database means; nobody else looks at SQLSTATEs.
"""

import asyncio
import os
import re
import socket
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.utils import Error as DjangoError
from psycopg import sql


class Trouble(Enum):
    RETRY = "retry"  # nothing happened; the same statement may be sent again
    UNKNOWN = "unknown"  # it may have happened: look before sending it again
    FATAL = "fatal"  # sending it again would fail again


class Unanswered(psycopg.OperationalError):
    """The database took longer over a statement than its sender would wait."""


class InDoubt(psycopg.OperationalError):
    """Committed here, but somebody cancelled the wait for the standby: a failover may forget it."""


# Conflicts (40), no resources (53), an operator's hand (57), the system's trouble (58); a lock that was not to be had,
# a standby (25006: reconnect first), and statements that a pooler prepared on another connection (26000, 42P05).
_RETRY_CLASSES = ("40", "53", "57", "58")
_RETRY = {"55P03", "25006", "26000", "42P05"}


def trouble(error: BaseException) -> Trouble:
    """Class an error of Django's or psycopg's once, for everybody."""
    cause = error.__cause__ if isinstance(error, DjangoError) and error.__cause__ else error
    state = getattr(cause, "sqlstate", None)
    if state is not None and (state in _RETRY or state.startswith(_RETRY_CLASSES)):
        return Trouble.RETRY
    if state == "0A000" and "cached plan" in str(cause):
        return Trouble.RETRY
    if state is None and isinstance(cause, psycopg.OperationalError | OSError):
        return Trouble.UNKNOWN  # the line went dead: the reply may have been on it
    if state is not None and state.startswith("08"):
        return Trouble.UNKNOWN
    return Trouble.FATAL


CANCEL_SECONDS = 1.0  # for asking the server to cancel, and for it to do so

_PARAMETER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class Statement[Row]:
    """One SQL text and the class of its rows, built from the columns in order."""

    text: str
    row: Callable[..., Row]
    # The text with $1, $2 … and the names in that order: psycopg would convert texts over 4 kB anew at each call.
    native: bytes = field(init=False, repr=False)
    names: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = tuple(dict.fromkeys(_PARAMETER.findall(self.text)))
        places = {name: f"${place}" for place, name in enumerate(names, 1)}
        native = _PARAMETER.sub(lambda found: places[found[1]], self.text).replace("%%", "%")
        object.__setattr__(self, "native", native.encode())
        object.__setattr__(self, "names", names)

    @classmethod
    def beside(cls, module: str, row: Callable[..., Row], name: str = "") -> "Statement[Row]":
        """Load the .sql file that stands beside a module; `name` where a verb needs a second one."""
        path = Path(module).with_suffix(".sql")
        return cls((path.with_stem(name) if name else path).read_text(), row)

    def __call__(self, **params: Any) -> list[Row]:
        """Run on Django's connection. Errors are Django's (django.db.utils)."""
        with _cursor() as cursor:
            cursor.execute(self.native, [params[name] for name in self.names])
            return [self.row(*values) for values in cursor.fetchall()]

    async def on(self, connection: psycopg.AsyncConnection[Any], **params: Any) -> list[Row]:
        """Run on psycopg's connection. Errors are psycopg's."""
        async with psycopg.AsyncRawCursor(connection) as cursor:
            await cursor.execute(self.native, [params[name] for name in self.names], binary=True)
            return [self.row(*values) for values in await cursor.fetchall()]

    def through(self, connection: psycopg.Connection[Any], **params: Any) -> list[Row]:
        """Run on a psycopg connection of one's own."""
        with psycopg.RawCursor(connection) as cursor:
            cursor.execute(self.native, [params[name] for name in self.names])
            return [self.row(*values) for values in cursor.fetchall()]

    def ask(self, **params: Any) -> "Steps[list[Row]]":
        """Send from inside a Verb: `rows = yield from statement.ask(…)`."""
        rows: list[Row] = yield self, params
        return rows


# What a verb's generator yields (a statement and its parameters), is sent (rows), and returns.
type Steps[T] = Generator[tuple[Statement[Any], dict[str, Any]], Any, T]


@dataclass(frozen=True, slots=True)
class Verb[**P, T]:
    """Several statements of one transaction, written once for both kinds of connection."""

    steps: Callable[P, Steps[T]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run on Django's connection, in a transaction (a savepoint inside one)."""
        with transaction.atomic():
            steps = self.steps(*args, **kwargs)
            rows: Any = None
            while True:
                try:
                    statement, params = steps.send(rows)
                except StopIteration as stop:
                    return cast("T", stop.value)
                rows = statement(**params)

    async def on(self, connection: psycopg.AsyncConnection[Any], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run on psycopg's connection, in a transaction."""
        async with connection.transaction():
            steps = self.steps(*args, **kwargs)
            rows: Any = None
            while True:
                try:
                    statement, params = steps.send(rows)
                except StopIteration as stop:
                    return cast("T", stop.value)
                rows = await statement.on(connection, **params)


async def in_one_go(
    connection: psycopg.AsyncConnection[Any], *asks: tuple[Statement[Any], dict[str, Any]]
) -> list[list[Any]]:
    """Send statements of one transaction without waiting for answers in between; answers the rows of each."""
    cursors = [psycopg.AsyncRawCursor(connection) for _ in asks]
    try:
        async with connection.pipeline():
            await connection.execute("BEGIN")
            for cursor, (statement, params) in zip(cursors, asks, strict=True):
                await cursor.execute(statement.native, [params[name] for name in statement.names], binary=True)
            await connection.execute("COMMIT")
    except psycopg.Error:
        await connection.rollback()
        raise
    rows = [await cursor.fetchall() for cursor in cursors]
    return [[statement.row(*values) for values in found] for (statement, _), found in zip(asks, rows, strict=True)]


def run(text: str) -> None:
    """Run generated DDL, such as a partition's, on Django's connection."""
    with _cursor() as cursor:
        cursor.execute(text.encode())


def run_alone(text: str, *, lock_timeout: str = "300ms") -> None:
    """Run what refuses a transaction, on a connection of its own that waits so long for a lock ("0": for ever)."""
    params = dsn()
    params["options"] = f"{params.get('options', '')} -c lock_timeout={lock_timeout}".strip()
    wrapper = connections[DEFAULT_DB_ALIAS]
    with wrapper.wrap_database_errors, psycopg.connect(**params, autocommit=True) as connection:
        connection.execute(text.encode())


@contextmanager
def _cursor() -> Iterator[psycopg.RawCursor[Any]]:
    """A cursor with server-side parameters on Django's connection, counted as Django counts."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    wrapper.ensure_connection()
    wrapper.validate_no_broken_transaction()
    raw = wrapper.connection
    with wrapper.wrap_database_errors, psycopg.RawCursor(raw) as cursor:
        began = time.monotonic()
        try:
            yield cursor
        finally:
            if wrapper.queries_logged:
                sent = cursor._query.query.decode() if cursor._query else ""
                took = f"{time.monotonic() - began:.3f}"
                wrapper.queries_log.append({"sql": sent, "time": took})


def after_commit(call: Callable[[], None]) -> None:
    """Call when the transaction open on Django's connection has committed; at once if none is."""
    transaction.on_commit(call, robust=True)


def dsn() -> dict[str, Any]:
    """What psycopg needs to open a connection of its own to the same database as Django's."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    params = wrapper.get_connection_params()
    for name in ("cursor_factory", "context", "pool", "server_side_binding"):
        params.pop(name, None)
    return params


def open_own(part: str = "") -> psycopg.Connection[Any]:
    """A connection of one's own beside Django's, in autocommit. `part` is said to the server."""
    return psycopg.connect(**_own(part))


def _own(part: str) -> dict[str, Any]:
    params = {**dsn(), "autocommit": True}
    if part:
        params["application_name"] = f"{params.get('application_name', '')} {part}".strip()
    return params


class Line(psycopg.AsyncConnection[Any]):
    """An asynchronous connection that remembers whether a commit of its own came back without the standby's word."""

    doubt = False

    def heed(self, notice: psycopg.errors.Diagnostic) -> None:
        # By the server's function, for the text may be in any language.
        if notice.source_function == "SyncRepWaitForLSN":
            self.doubt = True


# A plan that is kept may be older than what fills its tables: made while nothing waits, it would read a table from end to
# end, and a minute later that table has a million rows. Nothing that is sent here is better off that way.
KEPT_PLANS = "SELECT set_config('enable_seqscan', 'off', {local}), set_config('jit', 'off', {local})"
for_good = Statement(KEPT_PLANS.format(local="FALSE"), lambda *settings: None)


async def open_async(part: str = "") -> Line:
    """An asynchronous connection, in autocommit: one statement is one transaction. `part` is said to the server."""
    line = await Line.connect(**_own(part))
    line.add_notice_handler(line.heed)
    if line.prepare_threshold is not None:
        await for_good.on(line)
    return line


@asynccontextmanager
async def bounded(line: Line, seconds: float) -> AsyncIterator[None]:
    """Let what is sent inside take so long and no longer, whether the server is slow or silent.

    Raises Unanswered after that time, and InDoubt for a commit that is not safe on a standby. The
    server is asked first to cancel, so that nothing waits there for ever; then the line is cut.
    """
    loop = asyncio.get_running_loop()
    ends: list[asyncio.Task[None]] = []
    timer = loop.call_later(seconds, lambda: ends.append(loop.create_task(_hang_up(line))))
    try:
        yield
    except psycopg.Error as error:
        if ends:
            raise Unanswered(f"no answer for {seconds:g} s") from error
        raise
    finally:
        timer.cancel()
        if ends:
            ends[0].cancel()
            await line.close()  # a cancel that is still on its way must not meet the next statement
    if line.doubt:
        line.doubt = False
        raise InDoubt("committed, but the wait for the standby was cancelled")


async def _hang_up(line: Line) -> None:
    with suppress(psycopg.Error, OSError):
        await line.cancel_safe(timeout=CANCEL_SECONDS)
        await asyncio.sleep(CANCEL_SECONDS)
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(line.pgconn.socket)) as same:
        same.shutdown(socket.SHUT_RDWR)  # whoever waits for the answer reads the end of the line


async def listen(connection: psycopg.AsyncConnection[Any], channel: str) -> None:
    """LISTEN on a channel; the connection then yields notifications."""
    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
