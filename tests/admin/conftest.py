"""Staff: one who may do everything, and one who may only look."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from apps.accounts.models import User
from tests.factories import UserFactory


@pytest.fixture
def chief(ground) -> User:
    return UserFactory.create(is_staff=True, is_superuser=True)


@pytest.fixture
def console(chief: User) -> Client:
    client = Client()
    client.force_login(chief)
    return client


@pytest.fixture
def onlooker(ground) -> Client:
    """Staff with every right to view and none to change."""
    user = UserFactory.create(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client = Client()
    client.force_login(user)
    return client
