"""An arena for tests that commit and are many: they share one database, which is swept after each."""

from collections.abc import Iterator

import pytest
from django.db import connection, connections, transaction

from apps.bench.services.invariants import broken
from tests import databases
from tests.databases import Database

LEFT = (
    "jobs_job",
    "jobs_attempt",
    "jobs_dependency",
    "jobs_step",
    "jobs_publication",
    "jobs_progress",
    "jobs_unwoken",
    "guard_left",
    "audit_outbox",
    "workers_session",
    "workers_worker",
    "accounts_organization",  # and what belongs to it
)


@pytest.fixture(scope="session")
def arena_database(database_name, database_template, django_db_blocker) -> Iterator[Database]:
    """The database that this process's tests share in turn."""
    before = connections.settings["default"]["NAME"]
    with (
        django_db_blocker.unblock(),
        databases.clone(f"{database_name}_arena", template=database_template) as database,
    ):
        databases.use(before)
        with database.connect(autocommit=True) as own:
            own.execute(f"ALTER DATABASE {database.name} SET lock_timeout = '15s'")  # a test that hangs must fail
        yield database


@pytest.fixture
def arena(arena_database, django_db_blocker) -> Iterator[Database]:
    """Where a test commits in its turn; what must hold is checked when it is over, and the place is swept."""
    before = connections.settings["default"]["NAME"]
    with django_db_blocker.unblock():
        databases.use(arena_database.name)
        try:
            yield arena_database
            found = broken()
            assert not found, "\n".join(f"{one.name}: {', '.join(one.ids)}" for one in found)
        finally:
            _sweep()
            databases.use(before)


def _sweep() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('fencepost.guard', 'off', true)")
        for table in LEFT:
            cursor.execute(f"DELETE FROM {table}")
