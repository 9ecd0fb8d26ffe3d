"""The schema goes forward while old workers run: nobody waits for it, and nobody starts before it."""

import time

import psycopg
import pytest
from django.db import connection

from apps.jobs import services
from apps.jobs.states import JobState
from tests.deploy.test_side_by_side import FLAGS, NEW, OLD
from tests.processes import Process, final, until, worker

pytestmark = pytest.mark.chaos

LONGEST = 1.0  # seconds anybody may wait because of a migration
IMPATIENT = "SET lock_timeout = '5s'"  # what hangs must fail
GREW = "SELECT FROM pg_attribute WHERE attrelid = 'jobs_job'::regclass AND attname = 'growth'"
NEXT = NEW | {"GROWTH": "1"}


def submit(queue, count=1):
    return [services.submit(queue=queue, type="noop").id for _ in range(count)]


def took(call) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def test_a_column_comes_while_a_reader_holds_the_table_and_an_old_worker_runs(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FLAGS, name="old", **OLD):
        early = Process("runworker", "--name", "early", database=own_database, log=tmp_path / "early.log", **NEXT)
        assert early.wait() == 2
        assert "lacks growth.0001_initial: run manage.py migrate first." in early.output
        done = submit(queue)
        with own_database.connect() as reader, own_database.connect(autocommit=True) as bystander:
            reader.execute("SELECT count(*) FROM jobs_job")  # and stays in its transaction
            bystander.execute(IMPATIENT)
            connection.cursor().execute(IMPATIENT)
            migrate = Process("migrate", database=own_database, log=tmp_path / "migrate.log", **NEXT)
            longest = 0.0
            while migrate.output.count("Gave way") < 2:
                assert migrate.popen.poll() is None, migrate.output
                for table in ("jobs_job", "jobs_job_live"):
                    longest = max(longest, took(lambda table=table: bystander.execute(f"SELECT FROM {table} LIMIT 1")))
                assert longest < LONGEST
                done += submit(queue) if len(done) < 50 else []
            reader.rollback()
            until(lambda: bystander.execute(GREW).fetchone() or migrate.popen.poll() is not None)
            migrate.kill()  # it goes on to cut the days of a month, which is another story
            bystander.execute("SELECT growth FROM jobs_job_live LIMIT 1")
        assert {job.state for job in final(*done, *submit(queue, 20))} == {JobState.COMPLETED}
        with worker(own_database, tmp_path, *FLAGS, name="new", **NEXT):
            final(*submit(queue, 20))


def test_a_worker_whose_kept_plans_no_longer_fit_goes_on(own_database, tmp_path, queue):
    """A column that its statements answer changes its type: PostgreSQL refuses the prepared ones, once."""
    with worker(own_database, tmp_path, *FLAGS, "--processes", "0", name="old", **OLD) as process:
        for _ in range(12):  # each a claim and a report of its own, so that they are prepared
            final(*submit(queue))
        with own_database.connect(autocommit=True) as owner:
            _change_type(owner)
        assert {job.state for job in final(*submit(queue, 20))} == {JobState.COMPLETED}
        assert process.popen.poll() is None
        assert "cached plan" in process.output  # else this test shows nothing


def _change_type(owner: psycopg.Connection) -> None:
    owner.execute("ALTER TABLE jobs_job ALTER COLUMN attempt TYPE integer")
