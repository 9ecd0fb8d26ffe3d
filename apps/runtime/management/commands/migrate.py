"""Django's migrate, made safe to be called by two deployments at once, and the days cut ahead."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.core.management.commands import migrate

from apps.audit.engine.partition import partition as partition_audit
from apps.jobs.engine.partition import partition as partition_jobs
from apps.sql import dsn

# Of the transaction, not of the session, so that it holds behind a transaction pooler too; and a server that ends
# idle transactions must not end this one.
LOCK = """
    SELECT set_config('idle_in_transaction_session_timeout', '0', true),
           pg_advisory_xact_lock(hashtext('fencepost'), hashtext('migrate'))
"""


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with _alone():
            super().handle(*args, **options)
        if not options["plan"]:
            partition_audit()
            partition_jobs()


@contextmanager
def _alone() -> Iterator[None]:
    """Keep every other migrate waiting; on a second connection, for migrations commit on the first."""
    with psycopg.connect(**dsn()) as connection:
        connection.execute(LOCK)
        yield
