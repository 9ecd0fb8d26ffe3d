"""Log-ins, second factors and groups in the admin: ended at once, and not by whoever may do less than their owner."""

import pytest
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests.accounts.test_sessions import PLACE, browse
from tests.admin.test_changes import entries, run
from tests.admin.test_lists import page_of
from tests.factories import PASSWORD, UserFactory


@pytest.fixture
def clerk(ground) -> User:
    """Staff with every right that rows give, and no superuser."""
    user = UserFactory.create(is_staff=True, password=PASSWORD)
    user.user_permissions.set(Permission.objects.all())
    return user


@pytest.fixture
def desk(clerk: User) -> Client:
    browser = Client()
    browser.force_login(clerk, backend="django.contrib.auth.backends.ModelBackend")
    return browser


def log_in(user: User) -> tuple[Client, UserSession]:
    browser = browse(user)
    return browser, UserSession.objects.filter(user=user).latest("pk")


def factor_of(user: User) -> Authenticator:
    return Authenticator.objects.create(user=user, type="totp", data={"secret": "x"})


def delete(browser, row) -> int:
    address = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_delete", args=[row.pk])
    status: int = browser.post(address, {"post": "yes"}).status_code
    return status


def delete_together(browser, *rows) -> int:
    status: int = run(browser, type(rows[0]), "delete_selected", *rows, post="yes").status_code
    return status


def test_a_session_is_ended_on_its_row(console):
    browser, session = log_in(UserFactory.create(password=PASSWORD))
    assert delete(console, session) == 302
    assert browser.get(PLACE).status_code == 401
    assert entries(session.pk) == ["user_session.delete"]


def test_sessions_are_ended_together(console):
    logins = [log_in(UserFactory.create(password=PASSWORD)) for _ in range(2)]
    assert delete_together(console, *[session for _, session in logins]) == 302
    assert [browser.get(PLACE).status_code for browser, _ in logins] == [401, 401]


def test_staff_end_what_people_have_and_their_own(desk, clerk):
    for user in (UserFactory.create(password=PASSWORD), clerk):
        browser, session = log_in(user)
        assert delete(desk, session) == delete_together(desk, factor_of(user)) == 302
        assert browser.get(PLACE).status_code == 401
    assert not Authenticator.objects.exists()


@pytest.mark.parametrize("power", ["is_staff", "is_superuser"])
def test_staff_end_nothing_of_somebody_with_more_power(power, desk):
    boss = UserFactory.create(password=PASSWORD, **{power: True})
    browser, session = log_in(boss)
    for row in (session, factor_of(boss)):
        _, other = log_in(UserFactory.create(password=PASSWORD))
        assert delete(desk, row) == 403
        assert delete_together(desk, *([row, other] if row is session else [row])) == 403
        assert type(row).objects.filter(pk=row.pk).exists()
        assert UserSession.objects.filter(pk=other.pk).exists()
    assert browser.get(PLACE).status_code == 200


def test_staff_cannot_raise_themselves_by_a_group(desk, clerk):
    group = Group.objects.create(name="clerks")
    clerk.groups.add(group)
    assert desk.get(page_of(group)).status_code == 200
    assert desk.post(page_of(group), {"name": "clerks", "permissions": [1, 2]}).status_code == 403
    assert desk.post(reverse("admin:auth_group_add"), {"name": "more"}).status_code == 403
    assert delete(desk, group) == 403
    delete_together(desk, group)  # an action that is not offered does nothing
    assert Group.objects.get().permissions.count() == 0


def test_what_a_group_may_is_written_down(console):
    group = Group.objects.create(name="clerks")
    may = Permission.objects.get(codename="view_queue")
    console.post(page_of(group), {"name": "clerks", "permissions": [may.pk]})
    assert entries(group.pk) == ["group.permissions"]
    assert list(group.permissions.all()) == [may]
