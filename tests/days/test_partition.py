"""The days are cut ahead of time, once, whoever does it, and nobody waits for it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, connections
from django.utils import timezone

from apps.audit.engine import days
from apps.audit.engine import partition as audit
from apps.jobs.engine import partition as jobs
from apps.jobs.engine.partition import ATTEMPT, JOB, LOG
from tests.acts import enqueue, finish, take_one

pytestmark = pytest.mark.usefixtures("own_database")
TODAY = datetime.now(UTC).date


def attached(table):
    return [part.day for part in days.existing(table) if part.attached]


def sql(text):
    with connection.cursor() as cursor:
        cursor.execute(text)
        return cursor.fetchall() if cursor.description else []


@pytest.mark.parametrize("table", [JOB, ATTEMPT, LOG, audit.EVENT], ids=lambda table: table.name)
def test_yesterday_today_and_thirty_days_are_cut(table):
    call_command("migrate", verbosity=0)
    wanted = [TODAY() + timedelta(days=ahead) for ahead in range(-1, 31)]
    assert attached(table) == wanted
    assert days.days_left(table) == 30


def test_a_second_time_there_is_nothing_to_do():
    assert jobs.partition(ahead=5)
    assert jobs.partition(ahead=5) == []


def test_a_gap_is_filled_and_counts_as_the_end_until_then():
    name = JOB.partition(TODAY() + timedelta(days=2))
    sql(f"DROP TABLE {name}")
    assert jobs.left() == 1
    assert name in jobs.partition(ahead=5)
    assert jobs.left() == 5


def test_eight_at_once_cut_each_day_once():
    start = Barrier(8)

    def work(_):
        start.wait()
        try:
            return jobs.partition(ahead=8)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        cut = [name for names in pool.map(work, range(8)) for name in names]
    assert len(cut) == len(set(cut))
    assert jobs.left() == 8


def test_a_partition_has_the_promises_and_indexes_of_its_table():
    jobs.partition(ahead=5)
    name = JOB.partition(TODAY() + timedelta(days=5))
    checks = sql(f"SELECT conname FROM pg_constraint WHERE conrelid = '{name}'::regclass AND contype = 'c'")
    assert {("job_day_has_ended",), ("job_fence_not_behind_attempt",)} <= set(checks)
    assert (f"{name}_bound",) not in checks
    indexes = {row[0] for row in sql(f"SELECT indexdef FROM pg_indexes WHERE tablename = '{name}'")}
    assert any(text.endswith("(id)") and "UNIQUE" in text for text in indexes)
    assert any(text.endswith("(queue_id, id)") for text in indexes)


def test_the_guard_watches_new_days_too():
    jobs.partition(ahead=5)
    name = JOB.partition(TODAY() + timedelta(days=5))
    assert ("guard_came",) in sql(f"SELECT tgname FROM pg_trigger WHERE tgrelid = '{name}'::regclass")


def test_cutting_does_not_wait_for_an_open_transaction_that_reports(own_database, queue, session):
    """And the report's transaction goes on while it is being done."""
    enqueue(queue)
    taken = take_one(session, queue)
    with own_database.connect() as open_one:
        open_one.execute("SELECT count(*) FROM jobs_job")
        open_one.execute("UPDATE jobs_job_live SET priority = priority WHERE id = %s", (taken.job_id,))
        assert jobs.partition(ahead=6)
    finish(session, taken)


def test_whoever_finds_the_hand_taken_gives_up_and_comes_again(own_database, monkeypatch):
    """A lock held by another is waited for 300 ms at a time, never for good."""
    waits: list[float] = []
    with own_database.connect() as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtext('fencepost'), hashtext('days'))")

        def let_go(seconds: float) -> None:
            waits.append(seconds)
            other.rollback()

        monkeypatch.setattr("time.sleep", let_go)
        assert jobs.partition(ahead=4)
    assert len(waits) == 1


def test_a_row_for_a_day_that_nobody_cut_fails_loudly(queue, session):
    enqueue(queue)
    taken = take_one(session, queue)
    sql(f"DROP TABLE {JOB.partition(TODAY())}")
    with pytest.raises(DatabaseError, match="no partition"):
        finish(session, taken)
    jobs.partition(ahead=0)
    finish(session, taken)


def test_a_days_bounds_are_those_of_utc(queue, session):
    """Whatever the session's time zone, the shelf is the UTC day the job ended on."""
    with connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'Pacific/Kiritimati'")
        try:
            enqueue(queue)
            finish(session, take_one(session, queue))
            cursor.execute("SELECT shelved_on FROM jobs_job WHERE shelved_on IS NOT NULL")
            [(day,)] = cursor.fetchall()
            name = LOG.partition(TODAY() + timedelta(days=7))
            jobs.partition(ahead=7)
            cursor.execute("SET TIME ZONE 'UTC'")
            cursor.execute("SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = %s", [name])
            [(bound,)] = cursor.fetchall()
        finally:
            cursor.execute("SET TIME ZONE 'UTC'")
    assert day == timezone.now().astimezone(UTC).date()
    assert f"'{TODAY() + timedelta(days=7)} 00:00:00+00'" in bound
