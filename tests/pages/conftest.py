"""A project with something in it, and people of every role who look at it."""

from collections.abc import Callable

import pytest
from django.test import Client

from apps.accounts.models import Project, Role
from tests.factories import MembershipFactory, ProjectFactory, UserFactory

type Enter = Callable[[str], Client]


@pytest.fixture
def enter(project: Project) -> Enter:
    """A browser of somebody who has this role in the project's organization."""

    def enter_as(role: str) -> Client:
        client = Client()
        client.force_login(MembershipFactory.create(organization=project.organization, role=role).user)
        return client

    return enter_as


@pytest.fixture
def viewer(enter: Enter) -> Client:
    return enter(Role.VIEWER)


@pytest.fixture
def member(enter: Enter) -> Client:
    return enter(Role.MEMBER)


@pytest.fixture
def admin(enter: Enter) -> Client:
    return enter(Role.ADMIN)


@pytest.fixture
def stranger(ground) -> Client:
    """A member of another organization, with a project of their own."""
    membership = MembershipFactory.create(user=UserFactory.create())
    ProjectFactory.create(organization=membership.organization)
    client = Client()
    client.force_login(membership.user)
    return client
