"""Callers of every kind, around one queue."""

from pathlib import Path

import pytest

from apps.accounts.models import Membership, Organization, Role
from apps.queues.models import Queue
from tests.api.caller import Api, login_of, someone
from tests.api.tenant import World, build
from tests.factories import MembershipFactory


@pytest.fixture
def owner(organization: Organization) -> Membership:
    return MembershipFactory.create(organization=organization, role=Role.OWNER)


@pytest.fixture
def api(owner: Membership) -> Api:
    """An owner's program."""
    return login_of(owner.user)


@pytest.fixture
def viewer(organization: Organization) -> Api:
    return someone(organization, Role.VIEWER)


@pytest.fixture
def jobs(queue: Queue) -> str:
    """Where jobs of the queue are submitted."""
    return f"queues/{queue.pk}/jobs"


@pytest.fixture
def results(settings, tmp_path: Path) -> Path:
    """Where handlers keep their files."""
    settings.RESULTS_DIR = tmp_path
    return tmp_path


@pytest.fixture
def world(organization: Organization, results: Path) -> World:
    """A tenant with one of everything."""
    return build(organization, results)
