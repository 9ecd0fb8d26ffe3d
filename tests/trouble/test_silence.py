"""Nobody says that the line is dead: bytes stop, packets vanish. A worker notices in about six seconds."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from apps.jobs.states import JobState
from tests.processes import final, until
from tests.proxy import proxy
from tests.trouble.conftest import come_back, hand, long_only

pytestmark = pytest.mark.chaos

LONG = ("--lease", "30", "--heartbeat", "1")
NOTICED = 6 + 2 + 2  # the bound, one beat and one cancel, and a busy machine


def test_a_peer_that_falls_silent_is_noticed_and_costs_no_job(site, tmp_path):
    with (
        proxy("127.0.0.1", site.server.port) as between,
        hand(site, tmp_path, *LONG, by=site.via(between.port)) as one,
    ):
        site.warm()
        running = site.runs(2.0)
        between.pause()
        silent_at = time.monotonic()
        until(lambda: "wire=claims" in one.said() and "wire=beats" in one.said(), what=one.said)
        assert time.monotonic() - silent_at < NOTICED
        between.hang_up()
        between.resume()
        come_back(site, [one])
        site.ran_once(running)


def test_wake_ups_are_heard_again_and_one_look_finds_what_was_missed(site, tmp_path):
    """The poll is a minute away: only the look that follows a new LISTEN can find the job."""
    flags = ("--lease", "60", "--heartbeat", "20", "--poll-interval", "60", "--no-scheduler")
    with (
        proxy("127.0.0.1", site.server.port) as between,
        hand(site, tmp_path, *flags, by=site.via(between.port)) as one,
    ):
        until(lambda: listeners(site) == 1)
        between.refuse()
        until(lambda: listeners(site) == 0)
        missed = site.job()
        between.welcome()
        final(missed, within=15)
        final(site.job(), within=10)
        one.process.says("database answers again")


def listeners(site) -> int:
    with site.server.admin() as admin:
        found = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%%wake-ups' AND datname = %s",
            [site.database.name],
        ).fetchone()
    return found[0] if found else 0


# --- dropped packets ---


@dataclass
class Away:
    """A place of its own on the network, from which packets can be made to vanish."""

    name: str = "fencepost_t"
    host: str = "10.77.13.1"
    guest: str = "10.77.13.2"
    enter: tuple[str, ...] = ("ip", "netns", "exec", "fencepost_t")

    def run(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, timeout=10)

    def inside(self, *command: str) -> None:
        self.run(*self.enter, *command)

    def drop(self) -> None:
        for where in ("input", "output"):
            self.inside("nft", "add", "rule", "inet", "part", where, "ip", "saddr", self.host, "drop")
            self.inside("nft", "add", "rule", "inet", "part", where, "ip", "daddr", self.host, "drop")

    def heal(self) -> None:
        self.inside("nft", "flush", "ruleset")


@contextmanager
def away() -> Iterator[Away]:
    place = Away()
    try:
        place.run("ip", "netns", "add", place.name)
        place.run("ip", "link", "add", "fp_t0", "type", "veth", "peer", "name", "fp_t1", "netns", place.name)
        place.run("ip", "addr", "add", f"{place.host}/24", "dev", "fp_t0")
        place.run("ip", "link", "set", "fp_t0", "up")
        place.inside("ip", "addr", "add", f"{place.guest}/24", "dev", "fp_t1")
        for device in ("lo", "fp_t1"):
            place.inside("ip", "link", "set", device, "up")
        place.inside("nft", "add", "table", "inet", "part")
        for where in ("input", "output"):
            rule = f"{{ type filter hook {where} priority 0; }}"
            place.inside("nft", "add", "chain", "inet", "part", where, rule)
    except subprocess.CalledProcessError as refusal:
        pytest.skip(f"NOT TESTED, dropped packets: {refusal.stderr.decode().strip()}")
    else:
        yield place
    finally:
        subprocess.run(["ip", "netns", "del", place.name], check=False, capture_output=True, timeout=10)


@long_only
def test_packets_that_vanish_are_noticed_and_the_job_of_the_silent_runs_elsewhere(site, tmp_path):
    if os.geteuid() != 0 or not (shutil.which("nft") and shutil.which("ip")):
        pytest.skip("NOT TESTED, dropped packets: needs root, ip and nft")
    with (
        away() as place,
        hand(site, tmp_path, name="cut", by=site.via(site.server.port, place.host), prefix=place.enter) as cut,
    ):
        job = site.runs(0, first=60, polite=True)
        with hand(site, tmp_path, name="near"):
            place.drop()
            dropped_at = time.monotonic()
            until(lambda: "database does not answer" in cut.said(), what=cut.said)
            assert time.monotonic() - dropped_at < NOTICED
            [found] = final(job, within=40)
            assert (found.state, found.attempt) == (JobState.COMPLETED, 2)
            place.heal()
            cut.process.says("session lapsed; starting a new one", within=40)
            assert cut.process.popen.poll() is None
            until(lambda: sorted(site.noted(job)) == ["end", "start", "start", "told"], what=lambda: site.noted(job))
