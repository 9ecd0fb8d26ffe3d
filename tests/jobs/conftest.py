"""Every test here leaves a database in which all that must hold holds."""

from collections.abc import Iterator

import pytest
from django.db import connection

from apps.bench.services.invariants import broken
from apps.workers.models import Session
from tests.factories import SessionFactory


@pytest.fixture
def other(ground) -> Session:
    """A second worker, alive, that serves the same."""
    return SessionFactory.create()


@pytest.fixture(autouse=True)
def all_holds(ground) -> Iterator[None]:
    """Check DESIGN.md §11, and what is checked at commit, before the test is rolled back."""
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    found = broken()
    assert not found, "\n".join(f"{one.name}: {', '.join(one.ids)}" for one in found)
