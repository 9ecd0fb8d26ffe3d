"""A PostgreSQL of the run's own, from the package that is built in: it is stopped and killed, so nobody shares it."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.db import connections

from apps.bench.services.chaos.crew import with_us
from apps.bench.services.chaos.programs import programs
from apps.bench.services.ground import unbroken
from apps.bench.services.workers import Stuck
from apps.sql import Statement, run_alone

ACCOUNTS = ("postgres", "pgserver", "nobody")  # who serves when we are root, whom PostgreSQL refuses
ROLE, HOG = "chaos", "hog"  # no superusers, so that the limit of connections holds for them
READY_WITHIN, STOPPED_WITHIN = 30.0, 30.0  # seconds
FAST, IMMEDIATE = signal.SIGINT, signal.SIGQUIT
CONFIG = """\
listen_addresses = ''
unix_socket_directories = '{run}'
unix_socket_permissions = 0700
port = 5432
max_connections = 90
shared_buffers = 64MB
jit = off
autovacuum_naptime = 15s
timezone = 'UTC'
log_timezone = 'UTC'
{more}
"""

_terminate = Statement(
    "WITH chosen AS MATERIALIZED (SELECT pid FROM pg_stat_activity WHERE usename = %(role)s ORDER BY random() LIMIT %(limit)s)"
    " SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM chosen",
    int,
)
_backends = Statement("SELECT count(*) FROM pg_stat_activity WHERE usename = %(role)s", int)


@dataclass
class Server:
    home: Path
    account: pwd.struct_passwd | None
    programs: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def log(self) -> Path:
        return self.home / "log"

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log, unbroken():
            self.process = subprocess.Popen(  # noqa: S603 - a program of ours, no shell
                [str(self.programs / "postgres"), "-D", str(self.home / "data"), "-c", f"config_file={self.home}/postgresql.conf"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
                env=_environment(), preexec_fn=with_us(IMMEDIATE), **_as(self.account),
            )  # fmt: skip
        until = time.monotonic() + READY_WITHIN
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                raise Stuck(f"The server of the run does not start.\n{self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def stop(self, how: signal.Signals = FAST) -> None:
        """Stop it, and kill it where it does not."""
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(STOPPED_WITHIN)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            self.process.send_signal(IMMEDIATE)
            self.process.wait()
        self.process = None

    def revive(self) -> None:
        """Have it run, whatever was going on, and be the one who may drop a database that is being vacuumed."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        connections.close_all()
        connections.settings["default"].update(USER="postgres")

    def configure(self, more: str = "") -> None:
        """Write its settings; a running server takes them at once."""
        config = self.home / "postgresql.conf"
        config.write_text(CONFIG.format(run=self.run, more=more))
        config.chmod(0o644)
        if self.process is not None:
            self.process.send_signal(signal.SIGHUP)

    def connect(self, role: str = "postgres") -> psycopg.Connection[Any]:
        """By the socket itself, past the proxy."""
        return psycopg.connect(host=str(self.run), port=5432, user=role, dbname="postgres", autocommit=True)

    def backends(self) -> int:
        with self.connect() as connection:
            return _backends.through(connection, role=ROLE)[0]

    def terminate(self, limit: int = 1000) -> int:
        """End so many connections of the product; answers how many there were."""
        with self.connect() as connection:
            return _terminate.through(connection, role=ROLE, limit=limit)[0]

    def said(self, text: str) -> int:
        """How often its log has this."""
        return self.log.read_text(errors="replace").count(text)

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def server() -> Iterator[Server]:
    """A new server with an empty database; Django's connection leads there until it is stopped and removed."""
    home = Path(tempfile.mkdtemp(prefix="fencepost-chaos-"))
    account = _account() if os.geteuid() == 0 else None
    here: Server | None = None
    try:
        home.chmod(0o755)
        here = Server(home, account, programs(home, foreign=account is not None))
        for folder in (home / "data", here.run):
            folder.mkdir(0o700)
            if account:
                os.chown(folder, account.pw_uid, account.pw_gid)
        _initialize(here)
        here.configure()
        here.start()
        with _led_to(here):
            yield here
    finally:
        if here is not None:
            here.stop(IMMEDIATE)
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _led_to(here: Server) -> Iterator[None]:
    at = connections.settings["default"]
    before = {**at, "OPTIONS": dict(at["OPTIONS"])}
    connections.close_all()
    at.update(HOST=str(here.run), PORT="5432", USER="postgres", PASSWORD="", NAME="postgres")
    at["OPTIONS"] = {key: value for key, value in at["OPTIONS"].items() if not key.startswith("ssl")}
    try:
        run_alone(f"CREATE ROLE {ROLE} LOGIN CREATEDB")
        run_alone(f"CREATE ROLE {HOG} LOGIN")
        at.update(USER=ROLE)
        yield
    finally:
        connections.close_all()
        at.update(before)


def _initialize(here: Server) -> None:
    done = subprocess.run(  # noqa: S603 - a program of ours, no shell
        [
            str(here.programs / "initdb"), "-D", str(here.home / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--no-instructions", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-sync",
        ],
        env=_environment(), cwd="/", capture_output=True, text=True, check=False, **_as(here.account),
    )  # fmt: skip
    if done.returncode:
        raise Stuck(f"initdb failed.\n{done.stdout}{done.stderr}")


def _environment() -> dict[str, str]:
    # PGPORT, PGDATA and their like are meant for other servers.
    return {**{key: value for key, value in os.environ.items() if not key.startswith("PG")}, "LC_ALL": "C"}


def _account() -> pwd.struct_passwd:
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in ACCOUNTS:
        if name in known:
            return known[name]
    raise Stuck(f"PostgreSQL does not run as root, and none of {', '.join(ACCOUNTS)} exists here.")


def _as(account: pwd.struct_passwd | None) -> dict[str, Any]:
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
