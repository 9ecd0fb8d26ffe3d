"""Ground for every test: the built-in server unless DATABASE_URL names another, and something to work on."""

import signal
from collections.abc import Iterator

import pytest
from django.db import connections

from apps.accounts.api.rates import minutes
from apps.accounts.models import Organization, Project, User
from apps.queues.models import Queue
from apps.workers.models import Session
from config import embedded
from tests import databases, factories
from tests.arena import arena, arena_database  # noqa: F401 — fixtures
from tests.databases import Database


def pytest_configure() -> None:
    _hear_signals()
    embedded.ensure()


def _hear_signals() -> None:
    """A suite in the background ignores these; what is ignored is inherited, by workers that are to be told to stop too."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


@pytest.fixture(scope="session")
def database_base() -> str:
    return f"test_{connections.settings['default']['NAME']}"


@pytest.fixture(scope="session")
def database_template(database_base, django_db_blocker) -> str:
    """The migrated and guarded database that all others are cloned from."""
    with django_db_blocker.unblock():
        return databases.template(database_base)


@pytest.fixture(scope="session")
def database_name(database_base, request) -> Iterator[str]:
    worker = getattr(request.config, "workerinput", {}).get("workerid", "")
    with databases.reserved("_".join(filter(None, [database_base, worker]))) as name:
        yield name


@pytest.fixture(scope="session")
def django_db_setup(database_name, database_template, django_db_blocker) -> Iterator[None]:
    """The database of the tests that roll back: a clone, where pytest-django would migrate a new one."""
    with django_db_blocker.unblock(), databases.clone(database_name, template=database_template):
        yield


@pytest.fixture
def own_database(database_name, database_template, django_db_blocker, monkeypatch) -> Iterator[Database]:
    """A database of the test's own, for tests that commit; processes it starts find it by DATABASE_URL.

    The invariants are checked at the end.
    """
    with (
        django_db_blocker.unblock(),
        databases.clone(f"{database_name}_own", template=database_template) as database,
    ):
        monkeypatch.setenv("DATABASE_URL", database.url)
        yield database
        if database.must_hold:
            hold()


def hold() -> None:
    """Fail with the offending ids where an invariant is broken."""
    from apps.bench.services.invariants import broken

    found = broken()
    assert not found, "\n".join(f"{one.name}: {', '.join(one.ids)}" for one in found)


@pytest.fixture(autouse=True)
def new_minute() -> None:
    """Who knocks how often is counted from here on."""
    minutes.forget()


@pytest.fixture
def ground(request) -> None:
    """The test's own database or the arena if it asks for one, else the shared one, rolled back."""
    asked = [name for name in ("own_database", "arena") if name in request.fixturenames]
    request.getfixturevalue(asked[0] if asked else "db")


@pytest.fixture
def user(ground) -> User:
    return factories.UserFactory.create()


@pytest.fixture
def organization(ground) -> Organization:
    return factories.OrganizationFactory.create(slug="acme")


@pytest.fixture
def project(organization) -> Project:
    return factories.ProjectFactory.create(organization=organization, slug="media")


@pytest.fixture
def queue(project) -> Queue:
    return factories.QueueFactory.create(project=project, name="images")


@pytest.fixture
def session(ground) -> Session:
    """One boot of a worker, alive, with ten slots."""
    return factories.SessionFactory.create()
