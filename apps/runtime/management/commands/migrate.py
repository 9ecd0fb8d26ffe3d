"""Django's migrate, made safe to be called by two deployments at once, and the days cut ahead."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate

from apps.audit.engine.partition import partition as partition_audit
from apps.jobs.engine.partition import partition as partition_jobs
from apps.sql import Statement, open_own

_lock = Statement.beside(__file__, lambda *nothing: None)


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
    with open_own() as connection, connection.transaction():
        _lock.through(connection)
        yield
