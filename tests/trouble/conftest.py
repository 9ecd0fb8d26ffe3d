"""A server, a database on it and two workers, shared by the tests of a module: trouble leaves them whole."""

import json
import os
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from uuid import UUID

import pytest
from django.db import connections

from apps.jobs.selectors import find
from apps.jobs.services import submit
from apps.jobs.states import JobState
from apps.queues.models import Queue
from tests import databases, factories
from tests.conftest import hold
from tests.databases import Database
from tests.processes import Process, final, until
from tests.trouble import servers
from tests.trouble.servers import PASSWORD, ROLE, Server, free_port

SHORT = os.environ.get("SHORT") == "1"
long_only = pytest.mark.skipif(SHORT, reason="only in the long form")
LEASE = 2.0
QUICK = ("--lease", str(LEASE), "--poll-interval", "0.2")
SOON = 30.0  # seconds in which a worker is back after its database


@dataclass
class Site:
    server: Server
    database: Database
    queue: Queue
    notes: Path  # where the handler "note" writes

    def job(self, type: str = "noop", **fields: Any) -> UUID:
        return submit(queue=self.queue, type=type, **fields).id

    def via(self, port: int, host: str = "127.0.0.1") -> Database:
        """The same database by another way."""
        return Database(name=self.database.name, url=f"postgres://{ROLE}:{PASSWORD}@{host}:{port}/{self.database.name}")

    def runs(self, seconds: float, **payload: Any) -> UUID:
        """A job that writes notes, and runs by now."""
        job_id = self.job("note", payload={"seconds": seconds, **payload})
        until(lambda: self.noted(job_id), what=lambda: find(job_id))
        # Its claim is committed without waiting for the disk, and a crash may forget it: this commit takes it along.
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT pg_logical_emit_message(TRUE, 'test', '')")
        return job_id

    def warm(self) -> None:
        """Let each statement be sent so often that it is prepared: then one way is enough to run it."""
        for _ in range(7):
            final(self.job())

    def noted(self, job_id: UUID) -> list[str]:
        """What its runs wrote: start, end, told; of all attempts."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [line.split()[0] for line in lines if line.split()[1] == str(job_id)]

    def ran_once(self, job_id: UUID) -> None:
        """Completed by its first attempt, and by no other run."""
        [job] = final(job_id)
        assert (job.state, job.attempt) == (JobState.COMPLETED, 1)
        assert self.noted(job_id) == ["start", "end"]

    def forget_connections(self) -> None:
        """After the server went, Django's own connection is of no use."""
        connections.close_all()


@dataclass
class Hand:
    """A worker and where it answers probes."""

    process: Process
    port: int
    began_with: int = 0

    def probe(self, path: str = "/readyz") -> tuple[int, dict[str, Any]]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, json.load(answer)
        except HTTPError as refusal:
            return refusal.code, json.load(refusal)
        except URLError as error:
            return 0, {"error": str(error)}

    def ready(self) -> bool:
        return self.probe()[0] == 200

    def said(self) -> str:
        """Its log since the last mark."""
        return self.process.output[self.began_with :]

    def mark(self) -> None:
        self.began_with = len(self.process.output)


@pytest.fixture(scope="session")
def own_server() -> Iterator[Server]:
    with servers.server() as server:
        yield server


@pytest.fixture(scope="session")
def own_template(own_server, django_db_blocker) -> str:
    with django_db_blocker.unblock(), servers.at(own_server):
        return databases.template("trouble")


@pytest.fixture(scope="module")
def site(own_server, own_template, tmp_path_factory, django_db_blocker) -> Iterator[Site]:
    """A database on the server, with a queue; Django is pointed at it."""
    with (
        django_db_blocker.unblock(),
        servers.at(own_server),
        databases.clone("site", template=own_template) as database,
    ):
        project = factories.ProjectFactory.create(
            organization=factories.OrganizationFactory.create(slug="acme"), slug="media"
        )
        queue = factories.QueueFactory.create(project=project, name="images")
        yield Site(own_server, database, queue, tmp_path_factory.mktemp("notes") / "notes")


@pytest.fixture(autouse=True)
def what_must_hold(request) -> Iterator[None]:
    """Each test starts with empty lines to read, and ends with the invariants."""
    for name in ("hands", "hand"):
        if name in request.fixturenames:
            found = request.getfixturevalue(name)
            for one in found if isinstance(found, list) else [found]:
                one.mark()
    yield
    if "site" in request.fixturenames:
        request.getfixturevalue("site").forget_connections()
        hold()


def start(
    site: Site,
    folder: Path,
    *flags: str,
    name: str = "w1",
    by: Database | None = None,
    prefix: Sequence[str] = (),
    **env: str,
) -> Hand:
    """A worker with quick beats that answers probes; not yet waited for."""
    port = free_port()
    env = {"LEASE_SECONDS": str(LEASE), "HEALTH_SECONDS": "2", "NOTES": str(site.notes), **env}
    flags = (*QUICK, "--health-port", str(port), *flags)
    log = folder / f"{name}-{time.monotonic_ns()}.log"
    process = Process("runworker", "--name", name, *flags, database=by or site.database, log=log, prefix=prefix, **env)
    return Hand(process, port)


@contextmanager
def hand(site: Site, folder: Path, *flags: str, **more: Any) -> Iterator[Hand]:
    """One worker that has registered."""
    made = start(site, folder, *flags, **more)
    try:
        made.process.says("worker started")
        yield made
    finally:
        made.process.kill()


@pytest.fixture(scope="module")
def hands(site, tmp_path_factory) -> Iterator[list[Hand]]:
    """Two workers, with the scheduler's loops in them, that live through every test of a module."""
    folder = tmp_path_factory.mktemp("hands")
    made = [start(site, folder, name=name) for name in ("w1", "w2")]
    try:
        for one in made:
            one.process.says("worker started")
        yield made
    finally:
        for one in made:
            one.process.kill()


def come_back(site: Site, hands: list[Hand], *, lines: int = 30) -> None:
    """After trouble: the same processes, ready again, quick again, and without having filled the log."""
    site.forget_connections()
    for one in hands:
        until(one.ready, within=SOON, what=lambda: (one.probe(), one.said()))  # noqa: B023
    began = time.monotonic()
    [job] = final(site.job())
    assert job.state == JobState.COMPLETED
    assert time.monotonic() - began < 5
    for one in hands:
        assert one.process.popen.poll() is None
        assert "Traceback" not in one.said(), one.said()
        trouble = [line for line in one.said().splitlines() if "database" in line or "waits" in line]
        assert len(trouble) <= lines, one.said()


def poll(what: Callable[[], Any], *, within: float = 20) -> Any:
    """Wait for a true answer, and give it."""
    answers: list[Any] = []

    def look() -> bool:
        answers.append(what())
        return bool(answers[-1])

    until(look, within=within, what=lambda: answers[-1:])
    return answers[-1]
