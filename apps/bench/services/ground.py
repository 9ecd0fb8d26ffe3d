"""A database of a benchmark's own: made, migrated, and dropped however the benchmark ends."""

import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.core.management import call_command
from django.db import connections

from apps.accounts.models import Organization, Project
from apps.jobs.engine.wake import hush
from apps.queues.models import Queue
from apps.sql import Statement, run_alone

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATH = "bench/bench/bench"  # the queue
SHOWN = ("fsync", "full_page_writes", "max_wal_size", "shared_buffers", "synchronous_commit", "wal_compression")

_version = Statement("SELECT current_setting('server_version')", str)
_shown = Statement(
    "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%(names)s)", lambda *pair: pair
)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a benchmark stands: its database (and the one we came from), its queue, and the server."""

    name: str
    origin: str
    queue: Queue
    postgres: str
    server: dict[str, str]


@contextmanager
def ground() -> Iterator[Ground]:
    """Make a database, point Django and every process we start at it, and drop it in the end.

    Asking us to end with TERM or by closing the terminal is like Ctrl-C: the database goes too.
    """
    at, origin = connections.settings["default"], connections.settings["default"]["NAME"]
    name = f"bench_{os.getpid()}_{secrets.token_hex(3)}"
    with _ctrl_c_by_any_name(), _without_debug():
        try:
            run_alone(f'CREATE DATABASE "{name}"')
            _move_to(name)
            call_command("migrate", verbosity=0, interactive=False)
            with _environment({"DATABASE_URL": url(at), "DEBUG": "false", "LOG_LEVEL": "WARNING"}):
                yield Ground(name, origin, _queue(), _version()[0], dict(_shown(names=list(SHOWN))))
        finally:
            _let_nothing_interrupt()
            _move_to(origin)
            run_alone(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def url(at: dict[str, Any]) -> str:
    """The address of Django's database, as DATABASE_URL has it."""
    who = quote(at["USER"], safe="") + ":" + quote(at["PASSWORD"], safe="")
    where = f"/{quote(at['HOST'])}" if at["HOST"].startswith("/") else f"{at['HOST']}:{at['PORT'] or 5432}"
    ssl = {key: value for key, value in at["OPTIONS"].items() if key.startswith("ssl")}
    return f"postgres://{who}@{where}/{at['NAME']}{'?' if ssl else ''}{urlencode(ssl)}"


def _move_to(name: str) -> None:
    hush()
    connections.close_all()
    connections.settings["default"]["NAME"] = name


def _queue() -> Queue:
    organization = Organization.objects.create(name="Bench", slug="bench")
    project = Project.objects.create(organization=organization, name="Bench", slug="bench")
    return Queue.objects.create(project=project, name="bench")


@contextmanager
def _without_debug() -> Iterator[None]:
    """Django keeps every query it sends while DEBUG is on."""
    before, settings.DEBUG = settings.DEBUG, False
    try:
        yield
    finally:
        settings.DEBUG = before


@contextmanager
def _environment(more: dict[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})


@contextmanager
def _ctrl_c_by_any_name() -> Iterator[None]:
    before = {name: signal.signal(name, signal.default_int_handler) for name in ENDINGS}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


@contextmanager
def unbroken() -> Iterator[None]:
    """Keep a signal until the end of this block: a process that was just started must be known before it is obeyed."""
    late: list[int] = []
    before = {name: signal.signal(name, lambda number, _frame: late.append(number)) for name in ENDINGS}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
    if late:
        raise KeyboardInterrupt


def _let_nothing_interrupt() -> None:
    for name in ENDINGS:
        signal.signal(name, signal.SIG_IGN)
