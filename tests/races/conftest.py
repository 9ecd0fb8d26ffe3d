"""An arena for races: they commit, and they are many, so they share one database that is swept after each."""

from collections.abc import Iterator

import pytest
from django.db import connection, connections, transaction

from tests import databases
from tests.conftest import hold
from tests.databases import Database

LEFT = (
    "jobs_job",
    "jobs_attempt",
    "jobs_dependency",
    "jobs_progress",
    "guard_left",
    "audit_outbox",
    "workers_session",
    "workers_worker",
    "accounts_organization",  # and what belongs to it
)


@pytest.fixture(scope="session")
def arena_database(database_name, database_template, django_db_blocker) -> Iterator[Database]:
    """The database of all races of this process."""
    before = connections.settings["default"]["NAME"]
    with (
        django_db_blocker.unblock(),
        databases.clone(f"{database_name}_races", template=database_template) as database,
    ):
        databases.use(before)
        yield database


@pytest.fixture
def arena(arena_database, django_db_blocker) -> Iterator[Database]:
    """Where a race commits; what must hold is checked when it is over, and the place is swept."""
    before = connections.settings["default"]["NAME"]
    with django_db_blocker.unblock():
        databases.use(arena_database.name)
        try:
            yield arena_database
            hold()
        finally:
            _sweep()
            databases.use(before)


@pytest.fixture
def ground(request) -> None:
    """Queues and sessions are made in the arena where a test asks for it."""
    own = [name for name in ("arena", "own_database") if name in request.fixturenames]
    request.getfixturevalue(own[0] if own else "db")


def _sweep() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('fencepost.guard', 'off', true)")
        for table in LEFT:
            cursor.execute(f"DELETE FROM {table}")
