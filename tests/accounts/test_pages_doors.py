"""Who guesses at the pages' doors is counted in the database as at the API's: more processes are no more tries."""

from threading import BoundedSemaphore

import pytest
from allauth.mfa.totp.internal import auth as totp
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.cache import cache
from django.test import Client

from apps.accounts.api.passwords import hashing
from apps.accounts.models import User
from apps.audit.models import Entry
from tests.accounts.test_factors import code
from tests.api.caller import Api, problem
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
SIGNUP, NEW = "/accounts/signup/", {"email": "new@example.com", "password1": PASSWORD, "password2": PASSWORD}
LOGIN, FACTOR = "/accounts/login/", "/accounts/2fa/authenticate/"
RIGHT = {"login": "ada@example.com", "password": PASSWORD}


@pytest.fixture(autouse=True)
def another_process():
    """What a process counts in its memory, another one knows nothing of."""

    def forget() -> None:
        cache.clear()

    forget()
    return forget


@pytest.fixture
def ada() -> User:
    return UserFactory.create(email="ada@example.com", password=PASSWORD)


def enter(browser: Client, **fields: str):
    return browser.post(LOGIN, RIGHT | fields)


def is_in(browser: Client) -> bool:
    return browser.get("/api/v1/auth/me").status_code == 200


def test_ten_failures_lock_the_account_whichever_process_saw_them(ada, another_process):
    for _ in range(10):
        locked = enter(Client(), password="wrong")
        another_process()
    assert locked.status_code == 429
    assert int(locked["Retry-After"]) > 0
    right = enter(browser := Client())
    assert (right.status_code, right.content) == (429, locked.content)
    assert not is_in(browser)
    problem(Api().post("auth/login", {"email": ada.email, "password": PASSWORD}), 429)


def test_one_address_that_tries_many_accounts_is_stopped(ada, another_process, monkeypatch):
    monkeypatch.setattr("apps.accounts.api.passwords.FAILURES_MAX", 3)
    for number in range(3):
        enter(Client(), login=f"guess{number}@example.com")
        another_process()
    assert "Too many failed" in enter(browser := Client()).content.decode()
    assert not is_in(browser)


def test_guessing_codes_locks_too_whichever_process_saw_it(ada, another_process):
    secret = totp.generate_totp_secret()
    totp.TOTP.activate(ada, secret)
    enter(browser := Client())
    for number in range(10):
        browser.post(FACTOR, {"code": f"{number:06}"})
        another_process()
    assert browser.post(FACTOR, {"code": code(secret)}).status_code == 429
    assert not is_in(browser)
    assert enter(Client()).status_code == 429


def test_an_account_that_is_made_is_on_record(another_process, db):
    made = Client().post(SIGNUP, NEW)
    assert made.status_code == 302
    entry = Entry.objects.get(action="user.register")
    assert (entry.actor, entry.address) == (NEW["email"], "127.0.0.1")
    assert entry.user_id == User.objects.get().pk


def test_one_address_makes_only_so_many_accounts(another_process, db, monkeypatch):
    monkeypatch.setattr("apps.accounts.api.passwords.REGISTRATIONS_MAX", 2)
    for number in range(3):
        Client().post(SIGNUP, {**NEW, "email": f"new{number}@example.com"})
        another_process()
    assert User.objects.count() == 2


def test_passwords_are_hashed_few_at_a_time_here_too(ada, monkeypatch):
    monkeypatch.setattr("apps.accounts.api.passwords._slots", BoundedSemaphore(1))
    monkeypatch.setattr("apps.accounts.api.passwords.PATIENCE", 0.01)
    with hashing():
        busy = enter(browser := Client())
        assert busy.status_code == 200
        assert not is_in(browser)
    enter(browser)
    assert is_in(browser)


def test_a_program_of_another_site_learns_nothing_of_a_lock(ada):
    for _ in range(10):
        locked = Client(headers={"X-Requested-With": "XMLHttpRequest"}).post(LOGIN, RIGHT | {"password": "wrong"})
        cache.clear()
    assert locked.status_code == 429
    assert "Access-Control-Allow-Origin" not in locked
    assert ada.email not in locked.content.decode()


@pytest.mark.parametrize("then", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"])
def test_after_a_log_in_nobody_is_led_to_another_site(ada, then):
    assert enter(Client(), next=then)["Location"] == "/"


def test_who_is_refused_waits_as_long_whoever_they_name(ada, monkeypatch):
    """As many passwords are hashed for a wrong one as for nobody's: the clock tells nothing either."""
    hashed: list[str] = []
    encode = MD5PasswordHasher.encode

    def counted(hasher: MD5PasswordHasher, password: str, salt: str) -> str:
        hashed.append(password)
        return encode(hasher, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", counted)
    UserFactory.create(email="gone@example.com", password=PASSWORD, is_active=False)
    User.objects.create_user("nopassword@example.com")
    work, said = set(), set()
    for name in ("ada", "nobody", "gone", "nopassword"):
        hashed.clear()
        refused = Api().post("auth/login", {"email": f"{name}@example.com", "password": "wrong"})
        said.add(problem(refused, 401)["detail"])
        enter(Client(), login=f"{name}@example.com", password="wrong")
        work.add(len(hashed))
    assert (len(work), len(said)) == (1, 1)
    assert min(work) > 0
