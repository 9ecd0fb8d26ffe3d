"""A transaction pooler in between (case H20): two server connections for everything a worker does."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator

import pytest
from django.db import connection

from apps.jobs.models import Job
from apps.jobs.services import submit_batch
from apps.jobs.states import JobState
from tests.processes import until
from tests.trouble.conftest import SHORT, hand, long_only
from tests.trouble.servers import PASSWORD, ROLE, free_port

pytestmark = pytest.mark.chaos

CONFIG = """\
[databases]
* = host=127.0.0.1 port={server} user=app password=secret
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = plain
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
logfile = {folder}/pooler.log
unix_socket_dir =
"""


@pytest.fixture(scope="module")
def pooler(site, tmp_path_factory) -> Iterator[int]:
    """PgBouncer in front of the server; answers its port."""
    program = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if program is None:
        pytest.skip("NOT TESTED, a transaction pooler: PgBouncer is not installed")
    account = site.server.place.account
    folder = site.server.place.home / "pooler"
    folder.mkdir()
    port = free_port()
    (folder / "users").write_text(f'"{ROLE}" "{PASSWORD}"\n')
    (folder / "pooler.ini").write_text(CONFIG.format(server=site.server.port, port=port, folder=folder))
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
    process = subprocess.Popen(
        [program, "-q", str(folder / "pooler.ini")],
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(10)
        shutil.rmtree(folder)


def errors(text: str) -> list[str]:
    return [line for line in text.splitlines() if "warning" in line or "error" in line or "Traceback" in line]


def test_everything_through_a_pooler_that_knows_no_prepared_statements(site, pooler, tmp_path):
    count = 500 if SHORT else 5000
    flags = ("--poll-only", "--lease", "30")
    with hand(site, tmp_path, *flags, by=site.via(pooler), DB_PREPARE_THRESHOLD="", LOG_LEVEL="INFO") as one:
        for _ in range(0, count, 500):
            submit_batch(queue=site.queue, jobs=[{"type": "noop", "priority": 7}] * 500)
        done = Job.objects.filter(state=JobState.COMPLETED, priority=7)
        until(lambda: done.count() == count, within=60, what=lambda: errors(one.said()))
        one.process.send(signal.SIGTERM)
        assert one.process.wait() == 0
        assert errors(one.process.output) == []
    with connection.cursor() as cursor:  # nothing is left behind on the pooler's connections
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert cursor.fetchone() == (0,)


@long_only
def test_prepared_statements_behind_such_a_pooler_are_slow_and_said_but_lose_nothing(site, pooler, tmp_path):
    """The setting was forgotten: the log says what the pooler says, and the jobs are done all the same."""
    with hand(site, tmp_path, "--poll-only", "--lease", "30", by=site.via(pooler)) as one:
        made = [site.job() for _ in range(30)]
        done = Job.objects.filter(id__in=made, state=JobState.COMPLETED)
        until(lambda: done.count() == 30, within=60, what=lambda: errors(one.said()))
        assert any("prepared statement" in line for line in errors(one.said()))
        assert one.process.popen.poll() is None
