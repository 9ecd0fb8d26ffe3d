"""The floor: the least that a queue on PostgreSQL has to do, to know what part of it is reached.

One table and one partial index; an INSERT with a NOTIFY to enqueue; claim 50 under SKIP LOCKED and delete
them to work. Its statements stand here and not in .sql files, for their table exists only while this runs.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.types.json import Jsonb

from apps.bench.services.records import Records, payload, stamp
from apps.sql import Statement, dsn, run

BATCH = 50

_TABLE = """
    CREATE TABLE IF NOT EXISTS bench_floor (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload jsonb NOT NULL, state smallint NOT NULL DEFAULT 0
    )
"""
_INDEX = "CREATE INDEX IF NOT EXISTS bench_floor_ready ON bench_floor (id) WHERE state = 0"

_one = Statement(
    "WITH made AS (INSERT INTO bench_floor (payload) VALUES (%(payload)s) RETURNING id)"
    " SELECT id, pg_notify('bench_floor', '') FROM made",
    lambda *values: values[0],
)
_many = Statement(
    "WITH made AS (INSERT INTO bench_floor (payload) SELECT unnest(%(payloads)s::jsonb []))"
    " SELECT pg_notify('bench_floor', '')",
    lambda *values: None,
)
_claim = Statement(
    "UPDATE bench_floor SET state = 1 WHERE id = ANY(ARRAY("
    " SELECT id FROM bench_floor WHERE state = 0 ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED))"
    " RETURNING id, payload",
    lambda *values: values,
)
_finish = Statement(
    "WITH gone AS (DELETE FROM bench_floor WHERE id = ANY(%(ids)s) RETURNING 1) SELECT count(*) FROM gone", int
)


@contextmanager
def floor() -> Iterator[psycopg.Connection]:
    """Its table, and a connection that prepares its statements at once."""
    run(_TABLE)
    run(_INDEX)
    with psycopg.connect(**{**dsn(), "autocommit": True, "prepare_threshold": 1}) as connection:
        yield connection


def enqueue_one_by_one(connection: psycopg.Connection, jobs: int) -> None:
    for _ in range(jobs):
        _one.through(connection, payload=Jsonb(payload()))


def enqueue_in_bulk(connection: psycopg.Connection, jobs: int, *, batch: int) -> None:
    for start in range(0, jobs, batch):
        size = min(batch, jobs - start)
        _many.through(connection, payloads=[Jsonb(payload()) for _ in range(size)])


def drain(connection: psycopg.Connection, records: Records) -> float:
    """Work off what is there; answers the seconds from the first start to the last delete."""
    file = os.open(records.path, os.O_WRONLY | os.O_APPEND)
    began = 0.0
    try:
        while rows := _claim.through(connection, limit=BATCH):
            began = began or time.perf_counter()
            for _, given in rows:
                os.write(file, stamp(given["t"]))
            _finish.through(connection, ids=[row_id for row_id, _ in rows])
    finally:
        os.close(file)
    return time.perf_counter() - began
