"""The one module that opens a cursor. A Statement is one .sql file, sent either way:

* called, it runs on Django's connection, inside whatever transaction is open there;
* `on(connection, …)` runs it on an asynchronous psycopg connection (the worker's supervisor).

A Verb is a few statements with Python between them, written once as a generator that yields
them with `ask`; it too can be called or sent `on` a connection, and is one transaction either way.
Both use server-side parameters, so PostgreSQL may keep the plan (DB_PREPARE_THRESHOLD).
`trouble` says what an error of the database means; nobody else looks at SQLSTATEs.
"""

import re
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
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


# 40001, 40P01, 55P03, 57P0x, 53300, 25006 (a standby: reconnect first), 0A000 (cached plan)
_RETRY = {"40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "53300", "25006"}


def trouble(error: BaseException) -> Trouble:
    """Class an error of Django's or psycopg's once, for everybody."""
    cause = error.__cause__ if isinstance(error, DjangoError) and error.__cause__ else error
    state = getattr(cause, "sqlstate", None)
    if state in _RETRY or (state == "0A000" and "cached plan" in str(cause)):
        return Trouble.RETRY
    if state is None and isinstance(cause, psycopg.OperationalError | OSError):
        return Trouble.UNKNOWN  # the line went dead: the reply may have been on it
    if state is not None and state.startswith("08"):
        return Trouble.UNKNOWN
    return Trouble.FATAL


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


def open_own() -> psycopg.Connection[Any]:
    """A connection of one's own beside Django's, in autocommit."""
    return psycopg.connect(**{**dsn(), "autocommit": True})


async def open_async() -> psycopg.AsyncConnection[Any]:
    """An asynchronous connection, in autocommit: one statement is one transaction."""
    return await psycopg.AsyncConnection.connect(**{**dsn(), "autocommit": True})


async def listen(connection: psycopg.AsyncConnection[Any], channel: str) -> None:
    """LISTEN on a channel; the connection then yields notifications."""
    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
