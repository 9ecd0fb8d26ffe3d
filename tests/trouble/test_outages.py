"""The database goes away in one way or another: workers wait for it, lose nothing and fill no log (case H19)."""

import threading
import time

import pytest

from apps.jobs.engine.reap import reap
from apps.jobs.models import Attempt
from apps.jobs.states import JobState
from tests.processes import final, until
from tests.trouble.conftest import LEASE, SHORT, SOON, come_back, long_only, poll

pytestmark = pytest.mark.chaos


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_costs_no_job(site, hands, mode):
    waiting = [site.job("note", payload={"seconds": 0.1}) for _ in range(10)]
    running = site.runs(2.0)
    site.server.restart(mode)
    come_back(site, hands)
    site.ran_once(running)
    assert {job.state for job in final(*waiting)} == {JobState.COMPLETED}


def test_a_job_that_runs_through_an_outage_longer_than_its_lease_is_not_lost(site, hands):
    away = 8 if SHORT else 90
    running = site.runs(away + 1)
    site.server.stop()
    time.sleep(away)  # the length of the outage is the fault
    site.server.start()
    site.forget_connections()
    assert reap() == []  # a reaper that is quicker than the heartbeats
    come_back(site, hands)
    site.ran_once(running)


def test_backends_that_are_terminated_again_and_again(site, hands):
    jobs = [site.job("note", payload={"seconds": 0.02}, max_attempts=20, max_losses=20) for _ in range(50)]
    end = time.monotonic() + 3
    ended = 0
    while time.monotonic() < end:
        ended += site.server.terminate("fencepost %")
        time.sleep(0.1)  # the beat of the fault
    assert ended > 10
    come_back(site, hands, lines=90)  # thirty breaks, on three lines each
    assert {job.state for job in final(*jobs)} == {JobState.COMPLETED}
    assert Attempt.objects.filter(job_id__in=jobs, outcome="success").count() == 50


def test_no_connection_left(site, hands):
    running = site.runs(6.0)
    with site.server.admin() as admin:
        admin.execute("ALTER ROLE app CONNECTION LIMIT 0")
        site.server.terminate()
        try:
            until(lambda: all("too many connections" in one.said() for one in hands), what=lambda: hands[0].said())
            time.sleep(2 * LEASE + 1)  # the length of the outage is the fault
        finally:
            admin.execute("ALTER ROLE app CONNECTION LIMIT -1")
    come_back(site, hands)
    site.ran_once(running)


def test_a_server_that_only_reads_after_a_failover(site, hands):
    running = site.runs(2.0)
    site.server.settle("default_transaction_read_only", "on")
    try:
        until(lambda: all("read-only transaction" in one.said() for one in hands), what=lambda: hands[0].said())
    finally:
        site.server.settle("default_transaction_read_only", None)
    come_back(site, hands)
    site.ran_once(running)


def test_a_password_that_is_changed_and_changed_back(site, hands):
    running = site.runs(2.0)
    with site.server.admin() as admin:
        admin.execute("ALTER ROLE app PASSWORD 'other'")
    site.server.terminate()
    until(lambda: all("password authentication failed" in one.said() for one in hands), what=lambda: hands[0].said())
    with site.server.admin() as admin:
        admin.execute("ALTER ROLE app PASSWORD 'secret'")
    come_back(site, hands)
    site.ran_once(running)


@pytest.mark.parametrize("table", [pytest.param("jobs_job", marks=long_only), "queues_queue"])
def test_a_claim_loop_that_hangs_on_a_lock_is_not_live_until_it_turns_again(site, hands, table):
    """A process that merely exists does not count; one whose heart still beats does not either."""
    until(lambda: all(one.probe("/livez")[0] == 200 for one in hands))
    with site.server.admin(site.database.name) as admin, admin.transaction():
        admin.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        facts = poll(lambda: (found := hands[0].probe("/livez"))[0] == 503 and found[1])
        assert facts["database"]
        assert facts["claim_age"] > 2 or table == "jobs_job"
        assert facts["heartbeat_age"] < 2 or table == "jobs_job"
        if not SHORT:  # long enough for statements that wait to be given up, and no longer
            until(lambda: all("no answer for" in one.said() for one in hands))
            waiting = admin.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
            assert waiting
            assert waiting[0] < 20
    until(lambda: all(one.probe("/livez")[0] == 200 for one in hands), within=SOON)
    come_back(site, hands)


@long_only
def test_workers_stay_live_while_the_database_is_away(site, hands):
    seen: set[int] = set()
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            seen.add(hands[0].probe("/livez")[0])

    watcher = threading.Thread(target=watch)
    watcher.start()
    site.server.stop("immediate")
    time.sleep(LEASE + 3)  # longer than a stuck worker is given
    assert hands[0].probe("/readyz")[0] == 503
    site.server.start()
    come_back(site, hands)
    stop.set()
    watcher.join()
    assert seen == {200}
