"""Each benchmark, small: it says what it should, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import psycopg
import pytest
from django.conf import settings
from django.db import connections

pytestmark = pytest.mark.bench

KEYS = {
    "enqueue": {
        "one_by_one_per_second",
        "bulk_per_second",
        "floor_one_by_one_per_second",
        "floor_bulk_per_second",
        "ratio_to_floor",
        "bulk_ratio_to_floor",
    },
    "drain": {"jobs_per_second", "floor_per_second", "ratio_to_floor"},
    "cost": {"run_wal_bytes", "run_commits", "run_db_ms", "enqueue_wal_bytes", "relay_wal_bytes"},
    "http": {"posts_per_second", "post_p50_ms", "post_p95_ms", "post_core_ms", "batch_ms"},
    "latency": {"p50_ms", "p95_ms", "p99_ms"},
    "delayed": {"p50_ms", "p95_ms", "max_ms"},
    "deletion": {
        "alone_p50_ms",
        "beside_p50_ms",
        "ratio_p50",
        "alone_p95_ms",
        "beside_p95_ms",
        "ratio_p95",
        "emptied_seconds",
        "swept_seconds",
        "longest_batch_ms",
    },
    "claim-scale": {"empty_ms", "loaded_ms", "ratio"},
    "flow": {"chain_submit_seconds", "chain_run_seconds", "layers_submit_seconds", "layers_run_seconds"},
    "fairness": {"one_queue_ms", "many_queues_ms", "ratio", "single_job_in_claim"},
    "keys": {"plain_ms", "hot_ms", "ratio", "admit_ms"},
    "gate": {"one_row_16", "one_row_64", "eight_rows_64"},
    "limited": {
        "database_core_share",
        "worker_core_share",
        "noops_ms",
        "idle_database_core_share",
        "idle_worker_core_share",
        "idle_noops_ms",
        "neighbours_ratio",
    },
    "listeners": {"unheard_per_second", "heard_per_second", "ratio"},
    "snapshot": {"free_per_second", "held_per_second", "ratio", "p50_ms", "p95_ms", "p99_ms"},
    "recovery": {"lease_seconds", "worker_seconds", "executor_seconds"},
    "soak": {
        "supervisor_ratio",
        "executors_ratio",
        "supervisor_mb",
        "executors_mb",
        "threads",
        "files",
        "connections",
    },
}


@pytest.fixture
def server() -> Iterator[psycopg.Connection]:
    at = connections.settings["default"]
    params = {"host": at["HOST"], "port": at["PORT"], "user": at["USER"], "password": at["PASSWORD"]}
    with psycopg.connect(dbname="postgres", autocommit=True, **params) as connection:
        yield connection


def start(*flags: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "bench", *flags],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DEBUG": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def databases(server: psycopg.Connection, pid: int) -> list[str]:
    rows = server.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", (f"bench\\_{pid}\\_%",))
    return [name for [name] in rows]


@pytest.mark.parametrize("what", KEYS)
def test_it_prints_its_figures_and_drops_its_database(server, what):
    jobs = "2000" if what == "cost" else "200"  # what an idle worker costs is taken off: a few jobs drown in it
    process = start(what, "--jobs", jobs, "--rounds", "1", "--seconds", "2", "--json")
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    printed = json.loads(out)
    assert printed.keys() == KEYS[what] | {"unit", "settings", "postgres", "load"}
    # Bytes are of the whole server: what others write meanwhile may be more than an idle worker's subtraction.
    assert all(printed[key] > 0 for key in KEYS[what] if not key.endswith("wal_bytes"))
    assert databases(server, process.pid) == []


def test_the_deletion_of_a_project_is_measured_like_that_of_a_queue():
    out, err = start("deletion", "--of", "project", "--jobs", "2000", "--seconds", "2", "--json").communicate(
        timeout=180
    )
    printed = json.loads(out or "{}")
    assert printed.keys() == KEYS["deletion"] | {"unit", "settings", "postgres", "load"}, err
    assert printed["settings"]["of"] == "project"
    assert 0 < printed["settings"]["rows_left"] < printed["settings"]["rows"]


def test_who_enqueues_waits_for_nobody_to_notify():
    """Case H21: with a notification inside the transaction most of the 64 are seen at its lock, look after look."""
    out, err = start("listeners", "--rounds", "1", "--seconds", "6", "--json").communicate(timeout=180)
    assert max(json.loads(out)["settings"]["most_waiting_to_notify"]) == 0, err


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_drops_its_database_and_ends_its_worker_when_it_is_interrupted(server, ending):
    process = start("latency", "--jobs", "100000", "--json")
    children: list[psutil.Process] = []
    until = time.monotonic() + 60
    while not (children and databases(server, process.pid)):  # a library that is imported before may have a child too
        assert process.poll() is None
        assert time.monotonic() < until
        children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(ending)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert databases(server, process.pid) == []
    assert not any(child.is_running() for child in children)
