"""The row a handler leaves behind, over a connection of its own: what ran is judged there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from apps.handlers import Context
from apps.sql import open_own


@contextmanager
def effect(ctx: Context) -> Iterator[None]:
    """One row for a start; its end is filled in when the handler returns or raises."""
    with open_own() as connection:
        row = connection.execute(
            "INSERT INTO effects (job, attempt, pid) VALUES (%s, %s, %s) RETURNING id",
            (ctx.job_id, ctx.attempt, os.getpid()),
        ).fetchone()
        assert row
        try:
            yield
        finally:
            connection.execute("UPDATE effects SET ended_at = clock_timestamp() WHERE id = %s", row)


@contextmanager
def witnessed(ctx: Context) -> Iterator[None]:
    """The same on another server, which sees both: for servers that are taken away. A row says which fence ran."""
    with psycopg.connect(os.environ["WITNESS"], autocommit=True) as line:
        row = line.execute(
            "INSERT INTO witness (job, fence, pid) VALUES (%s, %s, %s) RETURNING id",
            (ctx.job_id, ctx.fence, os.getpid()),
        ).fetchone()
        yield
        line.execute("UPDATE witness SET ended_at = clock_timestamp() WHERE id = %s", row)
