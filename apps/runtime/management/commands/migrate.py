"""Django's migrate, made safe to be called by two deployments at once and beside workers, and the days cut ahead."""

import random
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, connections
from django.db.backends.postgresql.schema import DatabaseSchemaEditor

from apps.audit.engine.partition import partition as partition_audit
from apps.jobs.engine.partition import partition as partition_jobs
from apps.sql import Statement, Trouble, open_own, trouble

LOCK_WAIT_MS = 300  # what a statement waits for a lock, and whoever comes after it behind it
PAUSE = 1.0  # seconds until it is tried again, more or less

_lock = Statement.beside(__file__, lambda *nothing: None)
_brief = Statement.beside(__file__, lambda *nothing: None, "migrate_brief")


class Command(migrate.Command):
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)  # type: ignore[arg-type]
        parser.add_argument(
            "--lock-patience", type=float, default=600.0, help="seconds to try again while others hold a table"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        connections[options["database"]].SchemaEditorClass = _Brief
        with _alone():
            self._patiently(*args, **options)
        if not options["plan"]:
            partition_audit()
            partition_jobs()

    def _patiently(self, *args: Any, **options: Any) -> None:
        """Migrate; where a table is held for long, undo that migration, let the others pass and try again."""
        end = time.monotonic() + options["lock_patience"]
        while True:
            try:
                super().handle(*args, **options)
            except DatabaseError as error:
                if trouble(error) is not Trouble.RETRY:
                    raise
                if time.monotonic() > end:
                    raise CommandError(f"Others held what a migration needs for too long: {error}") from error
                self.stderr.write(f"Gave way, trying again: {str(error).strip()}")
                time.sleep(PAUSE * random.uniform(0.5, 1.5))  # noqa: S311
            else:
                return


class _Brief(DatabaseSchemaEditor):
    """Waits briefly for locks. A migration that is not atomic may wait: it locks nobody out (CONCURRENTLY)."""

    def __enter__(self) -> "_Brief":
        super().__enter__()
        if self.atomic_migration:
            _brief(milliseconds=LOCK_WAIT_MS)
        return self


@contextmanager
def _alone() -> Iterator[None]:
    """Keep every other migrate waiting; on a second connection, for migrations commit on the first."""
    with open_own() as connection, connection.transaction():
        _lock.through(connection)
        yield
