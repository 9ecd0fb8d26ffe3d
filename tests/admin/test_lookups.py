"""A list is narrowed by what it offers; any other column could be guessed through it, letter by letter."""

import pytest
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession

from apps.accounts.models import ApiToken, User
from tests.admin.test_lists import list_of
from tests.factories import ApiTokenFactory, UserFactory

pytestmark = pytest.mark.usefixtures("_rows")
SECRET = [
    (UserSession, "session_key__startswith=a"),
    (Authenticator, "data__secret__startswith=a"),
    (ApiToken, "hash__gt=a"),
    (ApiToken, "user__password__startswith=a"),
    (User, "password__startswith=a"),
    (User, "last_login__isnull=0"),
]


@pytest.fixture
def _rows(ground) -> None:
    user = UserFactory.create()
    UserSession.objects.create(user=user, ip="192.0.2.1", session_key="a" * 32)
    Authenticator.objects.create(user=user, type="totp", data={"secret": "a"})
    ApiTokenFactory.create()


@pytest.mark.parametrize(("model", "guess"), SECRET)
def test_a_column_that_is_not_offered_is_not_asked(model, guess, onlooker):
    assert onlooker.get(f"{list_of(model)}?{guess}").status_code == 400


def test_none_is_sorted_by_what_it_does_not_show(onlooker):
    """The number counts the columns of the list; a name means nothing."""
    shown = onlooker.get(list_of(UserSession)).content.count(b"192.0.2.1")
    for order in ("session_key", "99", "-session_key", "1.session_key", "?"):
        assert onlooker.get(f"{list_of(UserSession)}?o={order}").content.count(b"192.0.2.1") == shown


def test_what_is_offered_narrows(onlooker):
    kept = onlooker.get(f"{list_of(ApiToken)}?kind__exact=api")
    assert kept.status_code == 200
    assert f"/{ApiToken.objects.get().pk}/change/" in kept.content.decode()
    assert onlooker.get(f"{list_of(User)}?is_active__exact=1").status_code == 200
