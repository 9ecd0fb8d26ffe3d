"""Two deployments that migrate at once."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from apps.sql import dsn

ROOT = Path(__file__).parents[2]


@pytest.fixture
def empty_database() -> Iterator[str]:
    """The name of a database with nothing in it."""
    name = f"empty_{uuid4().hex}"
    with psycopg.connect(**dsn() | {"dbname": "postgres"}, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def url_of(name: str) -> str:
    place = dsn()
    password = quote(place.get("password", ""))
    port = f":{place['port']}" if place.get("port") else ""
    slash = "/" if place["host"].startswith("/") else ""
    return f"postgres://{place['user']}:{password}@{slash}{quote(place['host'])}{port}/{name}"


def migrate(name: str) -> subprocess.Popen[str]:
    environment = os.environ | {"DATABASE_URL": url_of(name)}
    command = [sys.executable, "manage.py", "migrate"]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def test_one_waits_for_the_other_and_both_succeed(empty_database: str) -> None:
    both = [migrate(empty_database) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert sorted("No migrations to apply" in output for output in outputs) == [False, True]
    with psycopg.connect(**dsn() | {"dbname": empty_database}) as connection:
        applied = connection.execute("SELECT count(*), count(DISTINCT (app, name)) FROM django_migrations").fetchone()
    assert applied is not None
    assert applied[0] == applied[1] > 0
