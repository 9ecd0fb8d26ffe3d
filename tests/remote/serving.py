"""The process that holds claims open, as production runs it, and callers in this one."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
from django.db import connection

from tests.databases import Database
from tests.processes import until

BOUNDS = ("--http", "h11", "--ws-max-size", "65536")  # as the runbook says
APPLICATION = "tests-stream"  # what the server's connections are called


class Server:
    """uvicorn with one process."""

    def __init__(self, database: Database, log: Path, port: int, **env: str) -> None:
        self.port, self.log = port, log
        self.url = f"http://127.0.0.1:{port}/api/v1"
        self.env = {
            **os.environ,
            "DATABASE_URL": database.url,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DB_APPLICATION_NAME": APPLICATION,
            **env,
        }
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--host", "127.0.0.1"]
        with self.log.open("ab") as output:
            self.popen = subprocess.Popen(
                [*command, *BOUNDS, "--port", str(self.port), "--lifespan", "off", "--log-level", "warning"],
                env=self.env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        until(self._answers, within=40, what=self.log.read_text)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> float:
        """TERM; answers how long it took to end."""
        began = time.monotonic()
        self.popen.terminate()
        self.popen.wait(40)
        return time.monotonic() - began

    def kill(self) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait(10)

    @property
    def seconds(self) -> float:
        """Of processor time it has used."""
        times = psutil.Process(self.popen.pid).cpu_times()
        return float(times.user + times.system)

    @property
    def threads(self) -> int:
        return int(psutil.Process(self.popen.pid).num_threads())


@contextmanager
def serving(database: Database, folder: Path, **env: str) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Server(database, folder / "stream.log", port, **env)
    try:
        yield server
    finally:
        server.kill()


def connections() -> int:
    """How many connections the server has."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE %s AND datname = current_database()",
            [f"{APPLICATION}%"],
        )
        return int(cursor.fetchone()[0])


class Caller:
    """One remote worker that waits."""

    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self.client, self.headers = client, {"Authorization": f"Bearer {token}"}
        self.session = ""

    async def post(self, path: str, **body: Any) -> httpx.Response:
        return await self.client.post(path, json=body, headers=self.headers)

    async def begin(self, uid: str, **fields: Any) -> "Caller":
        answer = await self.post("worker/sessions", uid=uid, types=["ping"], **fields)
        assert answer.status_code == 201, answer.text
        self.session = answer.json()["session"]
        return self

    async def claim(self, seconds: float = 20, **fields: Any) -> httpx.Response:
        return await self.post(f"worker/sessions/{self.session}/claim", wait_seconds=seconds, **fields)

    async def report(self, *jobs: Any, outcome: str = "success") -> httpx.Response:
        results = [{"job": job["job"], "fence": job["fence"], "outcome": outcome} for job in jobs]
        return await self.post(f"worker/sessions/{self.session}/report", results=results)
