"""What was done and not heard of: a reply that is lost leaves nothing undone, and nothing done twice."""

from collections.abc import Iterator

import pytest

from apps.jobs.models import Attempt
from apps.jobs.selectors import find
from apps.jobs.states import JobState
from apps.workers.models import Session
from tests.processes import final, until
from tests.proxy import DOWN, Proxy, proxy
from tests.trouble.conftest import Hand, hand

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def between(site) -> Iterator[Proxy]:
    with proxy("127.0.0.1", site.server.port) as made:
        yield made


@pytest.fixture(scope="module")
def one(site, between, tmp_path_factory) -> Iterator[Hand]:
    """A worker behind the proxy, with a lease that no test outlasts."""
    with hand(
        site, tmp_path_factory.mktemp("one"), "--lease", "60", "--heartbeat", "0.3", by=site.via(between.port)
    ) as made:
        yield made


def outcomes(job) -> list[str]:
    return list(Attempt.objects.filter(job_id=job).order_by("fence").values_list("outcome", flat=True))


def test_a_claim_whose_reply_is_lost_is_found_by_the_heartbeat_and_handed_back(site, between, one):
    site.warm()
    one.mark()
    between.pause(DOWN)
    job = site.job("note")
    until(lambda: find(job).state == JobState.RUNNING)
    between.hang_up()
    between.resume()
    [found] = final(job)
    assert (found.state, found.attempt) == (JobState.COMPLETED, 1)
    assert outcomes(job) == ["released", "success"]
    assert site.noted(job) == ["start", "end"]
    assert "claim with a lost reply is released" in one.said()


def test_a_report_whose_reply_is_lost_is_found_in_the_ledger(site, between, one):
    site.warm()
    one.mark()
    job = site.runs(0.5)
    between.pause(DOWN)
    until(lambda: find(job).state == JobState.COMPLETED)
    between.hang_up()
    between.resume()
    after = site.job("note")
    final(after)  # reports are sent in turn: the lost one is settled
    assert outcomes(job) == ["success"]
    assert "report fenced" not in one.said()
    assert Session.objects.get(worker__uid="w1", ended_at=None, fenced_at=None).fenced_writes == 0
    assert site.noted(job) == ["start", "end"]


def test_a_commit_whose_wait_for_a_standby_is_cancelled_is_looked_up(site, one):
    """COMMIT then answers as if all were well, with a warning: a failover could forget what it wrote."""
    one.mark()
    job = site.runs(1.0)
    site.server.settle("synchronous_standby_names", "nobody")
    try:
        with site.server.admin() as admin:
            until(lambda: admin.execute(WAITING, ["%reports"]).fetchone())
            admin.execute(f"SELECT pg_cancel_backend(pid) FROM ({WAITING}) AS waiting", ["%reports"])
            one.process.says("the wait for the standby was cancelled")
    finally:
        site.server.settle("synchronous_standby_names", None)
    final(site.job("note"))
    assert outcomes(job) == ["success"]
    assert "report fenced" not in one.said()


WAITING = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE %s AND wait_event = 'SyncRep'"
