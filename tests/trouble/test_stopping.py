"""TERM while the database is away or slow: report as long as the grace lasts, then leave and say what was not (case H24)."""

import signal
import time

import pytest

from apps.jobs.selectors import find
from apps.jobs.states import JobState
from tests.processes import final, until
from tests.proxy import DOWN, proxy
from tests.trouble.conftest import hand, long_only, start

pytestmark = pytest.mark.chaos


@pytest.fixture
def between(site):
    with proxy("127.0.0.1", site.server.port) as made:
        yield made


@long_only
def test_what_ended_in_an_outage_is_reported_within_the_grace(site, between, tmp_path):
    with hand(site, tmp_path, "--grace", "60", "--lease", "60", by=site.via(between.port)) as one:
        job = site.runs(1.0)
        between.refuse()
        one.process.send(signal.SIGTERM)
        until(lambda: site.noted(job) == ["start", "end"])
        until(lambda: "wire=reports" in one.said(), what=one.said)
        between.welcome()
        assert one.process.wait() == 0
        assert "Traceback" not in one.said()
    site.ran_once(job)


def test_a_worker_that_could_not_report_says_so_and_ends_when_the_grace_does(site, between, tmp_path):
    with hand(site, tmp_path, "--grace", "2", by=site.via(between.port)) as one:
        job = site.runs(0.3)
        between.refuse()
        refused_at, opened = time.monotonic(), between.opened
        until(lambda: "wire=reports" in one.said(), what=one.said)
        one.process.send(signal.SIGTERM)
        told_at = time.monotonic()
        assert one.process.wait(within=15) == 4
        assert time.monotonic() - told_at < 2 + 1 + 3  # grace, last try, and a busy machine
        tries = (between.opened - opened) / (time.monotonic() - refused_at)
        assert tries < 30, "a storm of connections"  # a dozen of loops, each a few times in its first second
        assert "left with ends unreported" in one.said()
        assert str(job) in one.said()
        assert "Traceback" not in one.said()
    with hand(site, tmp_path, name="w2"):
        [found] = final(job)
    assert (found.state, found.attempt) == (JobState.COMPLETED, 2)


@long_only
def test_a_second_signal_in_an_outage_ends_it_at_once(site, between, tmp_path):
    with hand(site, tmp_path, "--grace", "60", by=site.via(between.port)) as one:
        job = site.runs(60)
        between.refuse()
        until(lambda: "database does not answer" in one.said())
        one.process.send(signal.SIGTERM)
        one.process.says("worker drains")
        one.process.send(signal.SIGTERM)
        told_at = time.monotonic()
        assert one.process.wait(within=15) == 4
        assert time.monotonic() - told_at < 2 + 3  # hand back, last try, and a busy machine
        assert "Traceback" not in one.said()
        with site.server.admin(site.database.name) as admin:
            admin.execute("""UPDATE jobs_job_live SET payload = '{"seconds": 0}' WHERE id = %s""", [job])
    with hand(site, tmp_path, name="w2"):
        assert final(job)[0].state == JobState.COMPLETED


def test_a_start_that_waits_for_its_database_ends_at_once(site, between, tmp_path):
    between.refuse()
    one = start(site, tmp_path, by=site.via(between.port))
    try:
        one.process.says("wire=")
        until(lambda: one.probe("/livez")[0] == 200)
        assert one.probe("/readyz")[0] == 503
        one.process.send(signal.SIGTERM)
        assert one.process.wait(within=5) == 0
        assert "Traceback" not in one.process.output
    finally:
        one.process.kill()


def test_a_claim_on_its_way_is_waited_for_and_what_it_brings_is_run(site, between, tmp_path):
    with hand(site, tmp_path, "--grace", "30", "--lease", "30", by=site.via(between.port)) as one:
        site.warm()
        between.pause(DOWN)
        job = site.job("note")
        until(lambda: find(job).state == JobState.RUNNING)
        one.process.send(signal.SIGTERM)
        one.process.says("worker drains")
        between.resume()
        assert one.process.wait() == 0
    site.ran_once(job)


@long_only
def test_a_report_on_its_way_is_not_broken_off(site, between, tmp_path):
    """The reply to the last report comes when the grace is over."""
    with hand(site, tmp_path, "--grace", "0.5", "--lease", "30", by=site.via(between.port)) as one:
        site.warm()
        job = site.runs(0.5)
        between.pause(DOWN)
        until(lambda: find(job).state == JobState.COMPLETED)
        one.process.send(signal.SIGTERM)
        one.process.says("worker drains")
        time.sleep(3.5)  # how late the reply comes is the fault: past the grace and what killing may take
        between.resume()
        assert one.process.wait() == 0
        assert "unreported" not in one.said()
    site.ran_once(job)


@long_only
def test_beats_go_on_while_it_drains_through_a_restart(site, tmp_path):
    """Case H16: the lease is kept until the last job has ended, across a restart of the database."""
    with hand(site, tmp_path, "--grace", "60") as one:
        job = site.runs(7.0)
        with hand(site, tmp_path, name="w2"):  # would take over what is lost
            one.process.send(signal.SIGTERM)
            one.process.says("worker drains")
            site.server.restart()
            site.forget_connections()
            assert one.process.wait() == 0
            site.ran_once(job)
