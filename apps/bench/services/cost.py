"""What a job costs the database: write-ahead log, commits and time; enqueue, run and relay apart."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import psycopg
from django.db import connections

from apps.audit.relay import relay
from apps.bench.services.drain import finished
from apps.bench.services.enqueue import one_by_one
from apps.bench.services.figures import Rounds, told
from apps.bench.services.ground import Ground, ground
from apps.bench.services.records import Records, records
from apps.bench.services.workers import wait, workers
from apps.jobs.engine.wake import hush
from apps.sql import Statement, dsn, run, run_alone

JOBS = 5_000
CONCURRENCY = 100  # a worker claims for half of its slots at a time: batches of 50
IDLE = 1.0  # seconds

_tables = Statement(
    "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace", str
)
_others = Statement(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = %(name)s AND backend_type = 'client backend'", int
)


@dataclass(frozen=True, slots=True)
class Spent:
    wal_bytes: float
    commits: float
    db_ms: float

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, one.name) - getattr(other, one.name) for one in fields(Spent)))


_counters = Statement(
    "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8, xact_commit::float8, active_time"
    " FROM pg_stat_database WHERE datname = %(name)s",
    Spent,
)


def cost(*, jobs: int | None, concurrency: int | None, rounds: int, **_: object) -> dict[str, Any]:
    """Bytes, commits and milliseconds per job. Other work on the same server adds to the bytes."""
    jobs, concurrency, load = jobs or JOBS, concurrency or CONCURRENCY, os.getloadavg()
    taken = Rounds()
    flags = ("--concurrency", str(concurrency), "--processes", "0", "--no-scheduler")
    with ground() as here, records() as lines:
        for table in _tables():
            run(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        run_alone("CHECKPOINT", lock_timeout="0")
        _life(here, max(100, jobs // 5), lines, flags)  # pages are written whole once after a checkpoint: here
        for _round in range(rounds):
            taken.add(**_life(here, jobs, lines, flags))
        how = {"jobs": jobs, "concurrency": concurrency, "processes": 0, "foreign_wal_bytes_per_second": _foreign(here)}
        return told(here, taken, unit="per job", load=load, **how)


def _life(here: Ground, jobs: int, lines: Records, flags: tuple[str, ...]) -> dict[str, float]:
    """One round: enqueue one by one, work off, relay; less what a worker costs that has nothing to do."""
    with _from_outside(here) as outside:
        idle = _spent(here, outside, lambda: _work(here, outside, 0, lines, flags))
        enqueued = _spent(here, outside, lambda: one_by_one(here, jobs))
        ran = _spent(here, outside, lambda: _work(here, outside, jobs, lines, flags)) - idle
        relayed = _spent(here, outside, _relay_all)
    return {
        "run_wal_bytes": ran.wal_bytes / jobs,
        "run_commits": ran.commits / jobs,
        "run_db_ms": ran.db_ms / jobs,
        "enqueue_wal_bytes": enqueued.wal_bytes / jobs,
        "relay_wal_bytes": relayed.wal_bytes / jobs,
    }


def _spent(here: Ground, outside: psycopg.Connection, call: Callable[[], object]) -> Spent:
    """What a call cost. Sessions tell their statistics when they end, so all have ended at both readings."""
    _settle(here, outside)
    [before] = _counters.through(outside, name=here.name)
    call()
    _settle(here, outside)
    [after] = _counters.through(outside, name=here.name)
    return after - before


def _foreign(here: Ground) -> float:
    """What others on this server write meanwhile: on a quiet one nearly nothing, else the bytes above mean little."""
    with _from_outside(here) as outside:
        return _spent(here, outside, lambda: time.sleep(IDLE)).wal_bytes / IDLE


def _work(here: Ground, outside: psycopg.Connection, jobs: int, lines: Records, flags: tuple[str, ...]) -> None:
    """A worker from its start to its end, awaited without a question to its database but for the last."""
    lines.forget()
    with workers(1, *flags) as running:
        if jobs:
            wait(running, lambda: lines.count() >= jobs, what="The jobs are not started")
        else:
            wait(running, lambda: _sessions(here, outside) > 0, what="The worker does not come up")
            time.sleep(IDLE)
    if not finished():
        raise RuntimeError("The worker ended and left jobs behind.")


def _relay_all() -> None:
    while relay():
        pass


def _settle(here: Ground, outside: psycopg.Connection) -> None:
    hush()
    connections.close_all()
    while _sessions(here, outside):
        time.sleep(0.01)


def _sessions(here: Ground, outside: psycopg.Connection) -> int:
    return _others.through(outside, name=here.name)[0]


def _from_outside(here: Ground) -> psycopg.Connection:
    """A connection to the database we came from: its own commits are not counted here."""
    return psycopg.connect(**{**dsn(), "dbname": here.origin, "autocommit": True})
