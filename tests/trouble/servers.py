"""A PostgreSQL of the test's own, to be stopped, restarted and starved; it lies in a temporary folder."""

import os
import random
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from django.db import connections

from config import embedded
from config.places import Place, make_folder, place
from tests import databases

ROLE, PASSWORD = "app", "secret"
CONFIG = """\
listen_addresses = '{addresses}'
port = {port}
unix_socket_directories = '{run}'
max_connections = 60
shared_buffers = 64MB
fsync = off                     # the machine does not crash, only the server
timezone = 'UTC'
tcp_keepalives_idle = 5
tcp_keepalives_interval = 1
tcp_keepalives_count = 3
tcp_user_timeout = 5000
"""
RULES = """\
local all all trust
host all app all scram-sha-256
host all all 127.0.0.1/32 trust
"""


class Server:
    """Real binaries, real data; as root it runs under PostgreSQL's own account."""

    def __init__(self, home: Path) -> None:
        account = place().account if os.geteuid() == 0 else None
        self.place = Place(home, home / "run", account)
        self.port = free_port()
        self.config = home / "postgresql.conf"

    def make(self) -> None:
        self.place.home.chmod(0o755)
        make_folder(self.place.run, 0o755, self.place.account)
        embedded._initialize(self.place)
        self.config.write_text(CONFIG.format(port=self.port, run=self.place.run, addresses="*"))
        (self.place.data / "pg_hba.conf").write_text(RULES)
        self.start()
        with self.admin() as admin:
            admin.execute("ALTER SYSTEM SET password_encryption = 'scram-sha-256'")
            admin.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{PASSWORD}'")

    def start(self) -> None:
        options = f"-c config_file={self.config}"
        self._ctl("start", "-s", "-w", "-t", "60", "-l", self.place.data / "log", "-o", options)

    def stop(self, mode: str = "fast") -> None:
        self._ctl("stop", "-s", "-w", "-t", "60", "-m", mode)

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start()

    def _ctl(self, verb: str, *args: str | Path) -> None:
        embedded._run(self.place, "pg_ctl", verb, "-D", self.place.data, *args)

    def admin(self, name: str = "postgres") -> psycopg.Connection[Any]:
        """A superuser, by the socket: comes in when nobody else does."""
        return psycopg.connect(
            host=str(self.place.run), port=self.port, user="postgres", dbname=name, autocommit=True, connect_timeout=5
        )

    def settle(self, name: str, value: str | None) -> None:
        """Change a setting for everybody at once; None takes it back."""
        with self.admin() as admin:
            admin.execute(f"ALTER SYSTEM SET {name} = '{value}'" if value is not None else f"ALTER SYSTEM RESET {name}")
            admin.execute("SELECT pg_reload_conf()")

    def terminate(self, like: str = "%") -> int:
        """End the connections of clients, those of one part of a worker by its name; answers how many."""
        with self.admin() as admin:
            ended = admin.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE usename = %s AND application_name LIKE %s AND pid <> pg_backend_pid()",
                (ROLE, like),
            ).fetchone()
        assert ended
        return int(ended[0])

    @contextmanager
    def frozen(self, like: str) -> Iterator[int]:
        """Stop the processes that serve one part of a worker, as a server that hangs would; answers how many."""
        with self.admin() as admin:
            rows = admin.execute(
                "SELECT pid FROM pg_stat_activity WHERE usename = %s AND application_name LIKE %s", (ROLE, like)
            ).fetchall()
        for [pid] in rows:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield len(rows)
        finally:
            for [pid] in rows:
                os.kill(pid, signal.SIGCONT)


@contextmanager
def server() -> Iterator[Server]:
    """A fresh server; its data goes when the test is done."""
    home = Path(tempfile.mkdtemp(prefix="fencepost-trouble-"))
    made = Server(home)
    try:
        made.make()
        yield made
    finally:
        if (made.place.data / "postmaster.pid").exists():
            made.stop("immediate")
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def at(server: Server) -> Iterator[None]:
    """Point Django, and the databases that tests make, at this server."""
    default = connections.settings["default"]
    before = {key: default[key] for key in ("NAME", "HOST", "PORT", "USER", "PASSWORD")}
    databases._hang_up()
    default |= {"NAME": "postgres", "HOST": "127.0.0.1", "PORT": server.port, "USER": ROLE, "PASSWORD": PASSWORD}
    try:
        yield
    finally:
        databases._hang_up()
        default |= before


def free_port() -> int:
    """One below those that connections are given, so that it is still free after a restart."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            port = random.randint(20_000, 32_000)  # noqa: S311
            probe.bind(("", port))
            return port
