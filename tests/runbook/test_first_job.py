"""The runbook's way from an empty database to a job that has run: each command typed, each answer compared."""

import socket
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from psycopg import sql

from tests import databases
from tests.runbook.transcript import differing, run, steps_of

pytestmark = pytest.mark.chaos  # three programs start, one after the other
RUNBOOK = settings.BASE_DIR / "docs" / "runbook.md"
HEADING = "From an empty database to a job that has run"
PORT = "8000"  # the page's


@pytest.fixture
def empty(database_name):
    """The address of a database with nothing in it."""
    at, name = connections.settings["default"], f"{database_name}_empty"
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    params = {"host": at["HOST"], "port": at["PORT"], "user": at["USER"], "password": at["PASSWORD"]}
    with psycopg.connect(dbname="postgres", autocommit=True, **params) as server:
        server.execute(drop)
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield databases.url_of(name)
        server.execute(drop)


def test_what_the_runbook_says_is_what_a_shell_is_told(empty, tmp_path: Path):
    told = steps_of(RUNBOOK.read_text(), HEADING)
    assert len(told) > 20
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    (tmp_path / "manage.py").symlink_to(settings.BASE_DIR / "manage.py")  # so that logs are left behind elsewhere
    env = {"DATABASE_URL": empty, "PYTHONPATH": str(settings.BASE_DIR)}
    said = run([step.command.replace(PORT, port) for step in told], folder=tmp_path, env=env)
    faults = list(differing(told, [answer.replace(port, PORT) for answer in said]))
    assert not faults, "\n".join(faults)
    assert {path.name for path in tmp_path.iterdir()} == {"manage.py", "web.log", "worker.log"}, "what it leaves behind"
