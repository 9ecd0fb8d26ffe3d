"""A worker's connection in trouble: bounded calls, pauses that grow, few words."""

import asyncio
import time

import psycopg
import pytest

from apps.runtime.supervisor.wire import LONGEST_PAUSE, PATIENCE, Wire
from apps.sql import InDoubt, Trouble, Unanswered, trouble

pytestmark = pytest.mark.django_db

SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(61)%'"


@pytest.fixture
async def wire():
    made = Wire("test")
    yield made
    await made.close()


async def one(connection) -> object:
    [answer] = await (await connection.execute("SELECT 1")).fetchone()
    return answer


async def sleep(connection) -> None:
    await connection.execute("SELECT pg_sleep(61)")


async def test_a_call_that_takes_too_long_is_given_up_and_cancelled(wire):
    wire.patience = 0.1
    began = time.monotonic()
    with pytest.raises(Unanswered):
        await wire.send(sleep)
    assert time.monotonic() - began < 5
    assert wire.reached  # it lives, for it cancelled when it was asked to
    assert wire.patience == 0.2
    counted = await wire.send(lambda connection: connection.execute(SLEEPING))
    assert await counted.fetchone() == (0,)


async def test_the_next_call_after_trouble_has_a_fresh_line_and_the_usual_patience(wire):
    wire.patience = 0.1
    with pytest.raises(Unanswered) as caught:
        await wire.send(sleep)
    await wire.outage.pause(caught.value, longest=0.01)
    assert await wire.send(one) == 1
    assert (wire.patience, wire.outage.since) == (PATIENCE, None)


async def test_who_waits_for_the_database_is_woken_when_it_may_stop(wire):
    wire.outage.since, wire.outage.tries = time.monotonic(), 10  # the next pause is a long one
    until = asyncio.Event()

    async def fail(connection) -> None:
        raise psycopg.OperationalError("the line went dead")

    asyncio.get_running_loop().call_later(0.1, until.set)
    began = time.monotonic()
    with pytest.raises(psycopg.OperationalError):
        await wire.send_until_answered(fail, until=until)
    assert time.monotonic() - began < LONGEST_PAUSE / 2 - 0.5


async def test_an_outage_is_told_of_once_however_often_it_is_met(wire, caplog):
    for _ in range(5):
        await wire.outage.pause(psycopg.OperationalError("away"), longest=0.001)
    await wire.send(one)
    said = [record.msg["event"] if isinstance(record.msg, dict) else record.getMessage() for record in caplog.records]
    assert said == ["database does not answer", "database answers again"]


SQLSTATES = [
    ("53100", Trouble.RETRY),  # disk full
    ("53300", Trouble.RETRY),  # no connection left
    ("25006", Trouble.RETRY),  # a standby
    ("57P01", Trouble.RETRY),
    ("58030", Trouble.RETRY),  # input or output failed
    ("40P01", Trouble.RETRY),
    ("26000", Trouble.RETRY),  # a pooler's other connection
    ("42P05", Trouble.RETRY),
    ("08006", Trouble.UNKNOWN),
    ("42P01", Trouble.FATAL),
    ("23505", Trouble.FATAL),
    ("22P05", Trouble.FATAL),
]


@pytest.mark.parametrize(("state", "kind"), SQLSTATES)
def test_errors_are_classed_once(state, kind):
    assert trouble(psycopg.errors.lookup(state)()) is kind


@pytest.mark.parametrize("error", [Unanswered(), InDoubt(), psycopg.OperationalError(), ConnectionResetError()])
def test_a_line_that_breaks_leaves_it_open_what_happened(error):
    assert trouble(error) is Trouble.UNKNOWN
