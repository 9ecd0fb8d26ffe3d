"""What a load balancer is told: whether a web process lives, and whether work can be done behind it."""

import logging
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import AsyncClient, Client

from apps.jobs.engine.partition import ATTEMPT
from apps.runtime.selectors.readiness import Watch
from config import probes
from tests.trouble.servers import free_port


@pytest.fixture(autouse=True)
def watch(monkeypatch) -> Watch:
    """Nothing seen yet."""
    made = Watch()
    monkeypatch.setattr(probes, "watch", made)
    return made


def ask(path: str = "/readyz", **headers: str) -> tuple[int, dict[str, Any]]:
    answer = Client().get(path, headers=headers)
    return answer.status_code, answer.json()


def sql(database, text: str) -> None:
    with database.connect(autocommit=True) as connection:
        connection.execute(text)


def test_a_process_that_can_work_says_so(own_database):
    status, facts = ask()
    assert status == 200
    assert facts.pop("days_left") >= 3
    assert facts == {"live": True, "ready": True, "database": True, "writable": True, "migrated": True}


def test_it_is_answered_whatever_the_host_and_the_scheme(own_database, settings):
    settings.SECURE_SSL_REDIRECT = True
    assert ask("/readyz", Host="10.0.0.7:8000")[0] == 200
    assert ask("/livez", Host="10.0.0.7:8000") == (200, {"live": True})
    assert Client().get("/", headers={"Host": "10.0.0.7:8000"}).status_code in (301, 400)


@pytest.fixture
def nobody(own_database) -> Iterator[None]:
    """No server where the database should be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(connections.settings["default"], "HOST", "127.0.0.1")
        patch.setitem(connections.settings["default"], "PORT", free_port())
        yield


def test_without_a_database_it_lives_and_is_not_ready(nobody):
    assert ask("/livez") == (200, {"live": True})
    status, facts = ask()
    assert (status, facts["ready"], facts["database"]) == (503, False, False)


def test_a_database_that_does_not_answer_is_not_waited_for(own_database):
    with own_database.connect() as other:
        other.execute("LOCK TABLE django_migrations")
        began = time.monotonic()
        assert ask()[1]["database"] is False
        assert time.monotonic() - began < 10


BROKEN = {
    "writable": "ALTER DATABASE {} SET default_transaction_read_only = on",
    "migrated": "DELETE FROM django_migrations WHERE app = 'jobs'",
}


@pytest.mark.parametrize("fact", BROKEN)
def test_it_says_what_is_missing(own_database, fact):
    sql(own_database, BROKEN[fact].format(own_database.name))
    status, facts = ask()
    assert (status, facts["database"], facts[fact]) == (503, True, False)
    own_database.must_hold = False  # they are checked on a connection that takes writes


def test_a_database_that_nobody_migrated_is_not_ready(own_database):
    sql(own_database, "DROP TABLE django_migrations")
    status, facts = ask()
    assert (status, facts["database"], facts["migrated"]) == (503, True, False)


def test_days_that_nobody_cuts_are_told_of_before_they_come(own_database):
    day = datetime.now(UTC).date() + timedelta(days=3)
    sql(own_database, f"DROP TABLE {ATTEMPT.partition(day)}")
    status, facts = ask()
    assert (status, facts["days_left"]) == (503, 2)


def test_it_looks_once_a_second_at_most(own_database, watch):
    now = [100.0]
    watch.now = lambda: now[0]
    assert ask()[0] == 200
    sql(own_database, "DROP TABLE django_migrations")
    now[0] += 0.9
    assert ask()[0] == 200
    now[0] += 0.2
    assert ask()[0] == 503


def test_a_change_is_logged_and_no_probe_is(nobody, watch, caplog):
    caplog.set_level(logging.DEBUG)
    watch.now = iter(range(100)).__next__
    for _ in range(3):
        ask("/livez")
        ask("/readyz")
    assert [record.name for record in caplog.records if record.name != "asyncio"] == ["fencepost.web"]
    assert "not ready" in caplog.text


@pytest.mark.parametrize("name", ["django.server", "uvicorn.access"])
def test_servers_tell_of_requests_and_not_of_probes(name, caplog):
    caplog.set_level(logging.INFO, logger=name)
    logging.getLogger(name).info('"%s %s HTTP/1.1" %d', "GET", "/readyz", 200)
    logging.getLogger(name).info('"%s %s HTTP/1.1" %d', "GET", "/jobs?from=/readyz", 200)
    assert [record.args[1] for record in caplog.records] == ["/jobs?from=/readyz"]


def test_only_reading_is_answered(client):
    assert client.post("/livez").status_code == 405
    assert client.head("/livez").status_code == 200


async def test_the_async_server_answers_too():
    answer = await AsyncClient().get("/livez", headers={"Host": "10.0.0.7"})
    assert (answer.status_code, answer.json()) == (200, {"live": True})


def test_what_breaks_at_a_door_is_logged(own_database, monkeypatch, caplog):
    def broken(request: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(probes.DOORS, "/readyz", broken)
    assert Client(raise_request_exception=False).get("/readyz").status_code == 500
    assert any("/readyz" in one.getMessage() and one.exc_info for one in caplog.records)
