"""Second factors: asked for at every door, used once, and demanded of staff where a setting says so."""

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from django.test import Client

from apps.accounts.models import User
from apps.audit.models import Entry
from tests.api.caller import Api, problem
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
RIGHT = {"email": "ada@example.com", "password": PASSWORD}
BACKEND = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture
def ada() -> User:
    return UserFactory.create(email="ada@example.com", password=PASSWORD, is_staff=True, is_superuser=True)


@pytest.fixture
def secret(ada) -> str:
    secret = totp.generate_totp_secret()
    totp.TOTP.activate(ada, secret)
    return str(secret)


def code(secret: str) -> str:
    counter = next(iter(totp.yield_hotp_counters_from_time()))
    return str(totp.format_hotp_value(totp.hotp_value(secret, counter)))


def test_the_api_asks_for_it_too(secret):
    problem(Api().post("auth/login", RIGHT), 401, "second_factor_required")
    problem(Api().post("auth/login", {**RIGHT, "code": "000000"}), 401, "not_authenticated")
    assert Api().post("auth/login", {**RIGHT, "code": code(secret)}).status_code == 200


def test_a_code_opens_once(secret):
    once = {**RIGHT, "code": code(secret)}
    assert [Api().post("auth/login", once).status_code for _ in range(2)] == [200, 401]


def test_a_wrong_password_tells_nothing_of_it(ada):
    assert Api().post("auth/login", RIGHT).status_code == 200
    totp.TOTP.activate(ada, totp.generate_totp_secret())
    problem(Api().post("auth/login", {**RIGHT, "password": "wrong"}), 401, "not_authenticated")


def test_a_recovery_code_opens_once(ada, secret):
    spare = RecoveryCodes.activate(ada).get_unused_codes()[0]
    assert [Api().post("auth/login", {**RIGHT, "code": spare}).status_code for _ in range(2)] == [200, 401]


def test_guessing_codes_locks_as_guessing_passwords_does(secret):
    statuses = [Api().post("auth/login", {**RIGHT, "code": f"{n:06}"}).status_code for n in range(11)]
    assert (statuses[0], statuses[-1]) == (401, 429)
    problem(Api().post("auth/login", {**RIGHT, "code": code(secret)}), 429)


def test_the_pages_ask_for_it(secret):
    browser = Client()
    asked = browser.post("/accounts/login/", {"login": RIGHT["email"], "password": PASSWORD})
    assert asked["Location"] == "/accounts/2fa/authenticate/"
    assert browser.get("/api/v1/auth/me").status_code == 401
    browser.post(asked["Location"], {"code": code(secret)})
    assert browser.get("/api/v1/auth/me").status_code == 200


def test_staff_without_one_are_sent_to_set_one_up_where_the_setting_says_so(ada, settings):
    browser = Client()
    browser.force_login(ada, backend=BACKEND)
    assert browser.get("/admin/accounts/user/").status_code == 200
    settings.STAFF_TWO_FACTOR = True
    for path in ("/admin/", "/admin/accounts/user/"):
        assert browser.get(path)["Location"] == "/accounts/2fa/"
    assert browser.get("/accounts/2fa/").status_code == 200
    totp.TOTP.activate(ada, totp.generate_totp_secret())
    assert browser.get("/admin/accounts/user/").status_code == 200


def test_staff_take_a_lost_one_away_on_record(ada):
    other = UserFactory.create()
    totp.TOTP.activate(other, totp.generate_totp_secret())
    lost = Authenticator.objects.get(user=other)
    browser = Client()
    browser.force_login(ada, backend=BACKEND)
    browser.post(f"/admin/mfa/authenticator/{lost.pk}/delete/", {"post": "yes"})
    assert not Authenticator.objects.filter(user=other).exists()
    [entry] = Entry.objects.filter(action="authenticator.delete")
    assert "secret" not in str(entry.before)
