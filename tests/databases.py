"""Databases for tests: a template, migrated once and kept, and clones of it that live as long as they are used.

The template's comment says what it was made from (migrations, moves, the day), so that it is made
anew only when that changes. Each process of a run takes a name that no other run holds.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from asgiref.sync import SyncToAsync
from django.core.management import call_command
from django.db import connections
from psycopg import sql

from apps.jobs.engine import wake
from tests import guard

ROOT = Path(__file__).parents[1]
MADE_FROM = (
    "apps/*/migrations/*",
    "apps/*/engine/partition.py",
    "apps/audit/engine/days*",
    "apps/jobs/states.py",
    "tests/guard.py",
    "tests/databases.py",
    "requirements-dev.lock",
)
AHEAD = 3  # days the template keeps: fewer files to copy than the thirty that migrate cuts


@dataclass
class Database:
    """One database of a test. `url` is what a process started by the test needs as DATABASE_URL."""

    name: str
    url: str
    must_hold: bool = True  # False: the test breaks an invariant on purpose
    env: dict[str, str] = field(default_factory=dict)

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """Open a connection of its own, beside Django's."""
        return psycopg.connect(**_params(self.name), **options)


def use(name: str) -> None:
    """Point Django's connections of all threads at a database; those that are open are closed."""
    _hang_up()
    connections.settings["default"]["NAME"] = name


def url_of(name: str) -> str:
    """The address of a database, as DATABASE_URL has it."""
    at = connections.settings["default"]
    who = quote(at["USER"]) + (f":{quote(at['PASSWORD'])}" if at["PASSWORD"] else ":")
    where = f"/{quote(at['HOST'])}" if at["HOST"].startswith("/") else f"{at['HOST']}:{at['PORT'] or 5432}"
    return f"postgres://{who}@{where}/{name}"


@contextmanager
def clone(name: str, *, template: str) -> Iterator[Database]:
    """Make a database from the template, point Django at it, and drop it afterwards."""
    before = connections.settings["default"]["NAME"]
    with _maintenance() as server:
        _drop(server, name)
        _run(server, "CREATE DATABASE {} TEMPLATE {} STRATEGY wal_log", name, template)
    use(name)
    try:
        yield Database(name=name, url=url_of(name))
    finally:
        use(before)
        with _maintenance() as server:
            _drop(server, name)


@contextmanager
def reserved(base: str) -> Iterator[str]:
    """A name for this process that no other run on this server uses now."""
    with _maintenance() as server:
        for turn in range(1, 100):
            name = base if turn == 1 else f"{base}_{turn}"
            [taken] = server.execute("SELECT pg_try_advisory_lock(hashtext(%s))", (name,)).fetchone() or [False]
            if taken:
                yield name
                return


def template(base: str) -> str:
    """The template's name; it is made first where it is missing or out of date."""
    name, mark = f"{base}_template", _fingerprint()
    with _maintenance() as server:
        server.execute("SELECT pg_advisory_lock(hashtext(%s))", (name,))
        found = server.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", (name,)
        ).fetchone()
        if found != (mark,):
            _drop(server, name)
            _run(server, "CREATE DATABASE {}", name)
            _fill(name)
            _run(server, "COMMENT ON DATABASE {} IS {}", name, sql.Literal(mark))
    return name


def _fill(name: str) -> None:
    before = connections.settings["default"]["NAME"]
    use(name)
    try:
        call_command("migrate", verbosity=0, interactive=False)
        with connections["default"].cursor() as cursor:
            cursor.execute(guard.sql())
            last = f"{datetime.now(UTC) + timedelta(days=AHEAD):%Y%m%d}"
            cursor.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '_d[0-9]{8}$' AND right(relname, 8) > %s",
                (last,),
            )
            for [partition] in cursor.fetchall():
                cursor.execute(f"DROP TABLE {partition}")
    finally:
        use(before)


def _fingerprint() -> str:
    made = hashlib.sha256(f"{datetime.now(UTC):%F}".encode())
    for pattern in MADE_FROM:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                made.update(path.read_bytes())
    return made.hexdigest()


def _hang_up() -> None:
    """Close what this process has open: this thread, the thread of sync_to_async, and the one that notifies."""
    if wake._notifier is not None:
        wake._notifier.close()
        wake._notifier = None
    connections.close_all()
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


def _params(name: str) -> dict[str, Any]:
    at = connections.settings["default"]
    return {"dbname": name, "host": at["HOST"], "port": at["PORT"], "user": at["USER"], "password": at["PASSWORD"]} | {
        key: value for key, value in at["OPTIONS"].items() if key.startswith("ssl")
    }


def _maintenance() -> psycopg.Connection[Any]:
    return psycopg.connect(**_params("postgres"), autocommit=True)


def _drop(server: psycopg.Connection[Any], name: str) -> None:
    _run(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


def _run(server: psycopg.Connection[Any], text: str, *names: str | sql.Composable) -> None:
    parts = [sql.Identifier(name) if isinstance(name, str) else name for name in names]
    server.execute(sql.SQL(text).format(*parts))
