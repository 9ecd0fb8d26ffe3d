"""A connection that waited in the pool is handed out only while it lives, and without asking each time."""

import select
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool, PoolTimeout

from apps.sql import dsn
from config import pooling
from tests.processes import until
from tests.proxy import proxy

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """However busy the machine is, what answered is believed until it is aged."""
    monkeypatch.setattr(pooling, "BELIEVED", 3600.0)


@pytest.fixture
def pool() -> Iterator[ConnectionPool[Any]]:
    """As a web process makes it, with one connection that is known to live."""
    with ConnectionPool(kwargs={**dsn(), "autocommit": True}, **pooling.options(1)) as made:
        with made.connection() as line:
            line.execute("SELECT 1")
        yield made


@pytest.fixture
def operator() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(**dsn(), autocommit=True) as line:
        yield line


def last_spoken(pid: int, operator: psycopg.Connection[Any]) -> Any:
    row = operator.execute("SELECT state_change FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone()
    assert row
    return row[0]


def age(line: psycopg.Connection[Any]) -> None:
    pooling._answered[line] -= pooling.BELIEVED


def test_one_that_answered_lately_is_not_asked_again(pool, operator):
    with pool.connection() as line:
        pid = line.info.backend_pid
    before = last_spoken(pid, operator)
    for _ in range(3):
        with pool.connection() as line:
            assert line.info.backend_pid == pid
    assert last_spoken(pid, operator) == before


def test_one_that_has_been_silent_for_a_second_is_asked(pool, operator):
    with pool.connection() as line:
        pid = line.info.backend_pid
    before = last_spoken(pid, operator)
    age(line)
    with pool.connection():
        pass
    assert last_spoken(pid, operator) > before


def test_one_whose_backend_was_ended_is_not_handed_out_however_lately_it_answered(pool, operator):
    for _ in range(3):
        with pool.connection() as line:
            pid = line.info.backend_pid
        operator.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        with pool.connection() as line:
            assert line.execute("SELECT 1").fetchone() == (1,)
            assert line.info.backend_pid != pid


def test_news_that_end_nothing_are_read_and_the_connection_is_kept(pool, operator):
    with pool.connection() as line:
        pid = line.info.backend_pid
        line.execute("LISTEN news")
    operator.execute("NOTIFY news")
    assert select.select([line], [], [], 10)[0]  # they are on their way
    with pool.connection() as line:
        assert line.info.backend_pid == pid
    assert not pooling._is_readable(line)


def test_one_that_is_new_keeps_no_plan_that_reads_a_table_whole(pool):
    asked = "SELECT current_setting('enable_seqscan'), current_setting('jit')"
    with pool.connection() as line:
        assert line.execute(asked).fetchone() == ("off", "off")


def test_where_no_plan_is_kept_the_servers_settings_stand():
    with (
        ConnectionPool(kwargs={**dsn(), "prepare_threshold": None}, **pooling.options(1)) as made,
        made.connection() as line,
    ):
        assert line.execute("SHOW enable_seqscan").fetchone() == ("on",)


def test_after_an_outage_whoever_asks_first_is_not_kept_waiting_for_a_pause_that_has_grown(monkeypatch):
    monkeypatch.setattr(pooling, "PATIENCE", 1.0)
    with proxy("127.0.0.1", 1) as server:
        server.refuse()
        where = {**dsn(), "host": "127.0.0.1", "port": server.port}
        with ConnectionPool(kwargs=where, **pooling.options(1)) as made:
            until(lambda: made.get_stats()["pool_size"] == 0)  # it has given up
            before = server.opened
            with pytest.raises(PoolTimeout), made.connection(timeout=0.5):
                pass
            assert server.opened > before
