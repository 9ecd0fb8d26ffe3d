"""A forgotten password, a confirmed address: by keys that came by mail, and nobody learns who has an account."""

import re
from typing import Any

import pytest
from django.core import mail
from django.db import close_old_connections
from django.test import Client

from apps.accounts.models import User
from apps.accounts.services import recovery
from apps.audit.models import Entry
from tests.api.caller import Api, login_of, pointers, problem
from tests.factories import PASSWORD, UserFactory

NEW = "twelve angry staples"
BACKEND = "django.contrib.auth.backends.ModelBackend"
submit = recovery._post.submit


@pytest.fixture
def at_once(monkeypatch, db) -> None:
    """What goes on beside the request is done inside it, where this test's transaction is."""
    monkeypatch.setattr(recovery, "ask_later", recovery.ask)


@pytest.fixture
def ada(db) -> User:
    return UserFactory.create(email="ada@example.com", password=PASSWORD)


def key_of(message: Any) -> str:
    [key] = re.findall(r"/key/([^/\s]+)/", message.body)
    return str(key)


def asked(email: str = "ada@example.com") -> str:
    assert Api().post("auth/password/reset", {"email": email}).status_code == 204
    return key_of(mail.outbox[-1])


def confirm(key: str, password: str = NEW) -> Any:
    return Api().post("auth/password/reset/confirm", {"key": key, "new_password": password})


def test_a_key_sets_a_new_password_once_and_ends_every_log_in(at_once, ada):
    api, page = login_of(ada), Client()
    page.force_login(ada, backend=BACKEND)
    key = asked("ADA@Example.com")
    assert mail.outbox[-1].to == ["ada@example.com"]
    assert confirm(key).status_code == 204
    problem(api.get("auth/me"), 401)
    assert page.get("/api/v1/auth/me").status_code == 401
    login = {"email": ada.email, "password": NEW}
    assert Api().post("auth/login", login).status_code == 200
    problem(Api().post("auth/login", {**login, "password": PASSWORD}), 401)
    assert pointers(confirm(key, "thirteen angry staples")) == ["#/key"]
    entry = Entry.objects.get(action="user.password")
    assert (entry.actor, entry.user_id, entry.address) == (ada.email, ada.pk, "127.0.0.1")


@pytest.mark.parametrize("key", ["", "x", "-", "1-2", "x" * 300, "0-dbk1up-3f7d9c5bfd8dd1a9e4c1b0b8a7e6d5c4"])
def test_a_key_that_is_none_is_refused(at_once, ada, key):
    assert pointers(confirm(key)) == ["#/key"]


def test_a_key_of_somebody_who_was_shut_out_opens_nothing(at_once, ada):
    key = asked()
    User.objects.update(is_active=False)
    assert pointers(confirm(key)) == ["#/key"]


def test_a_key_is_for_one_person_alone(at_once, ada):
    theirs = asked(UserFactory.create(password=PASSWORD).email)
    key = f"{asked().partition('-')[0]}-{theirs.partition('-')[2]}"
    assert pointers(confirm(key)) == ["#/key"]


def test_a_weak_password_is_refused_and_the_key_still_good(at_once, ada):
    key = asked()
    assert "#/new_password" in pointers(confirm(key, "short"))
    assert confirm(key).status_code == 204


def test_an_address_without_an_account_is_told_the_same_and_sent_nothing(at_once, ada):
    answers = [Api().post("auth/password/reset", {"email": email}) for email in ("ada@example.com", "eve@example.com")]
    assert [(one.status_code, one.content) for one in answers] == [(204, b"")] * 2
    assert [one.to for one in mail.outbox] == [["ada@example.com"]]


def test_the_request_itself_does_the_same_for_both(ada, monkeypatch, django_assert_num_queries):
    """Whatever depends on the account is done beside it."""
    given: list[Any] = []
    monkeypatch.setattr(recovery._post, "submit", lambda *call: given.append(call))
    for email in ("ada@example.com", "eve@example.com"):
        with django_assert_num_queries(0):
            Api().post("auth/password/reset", {"email": email})
        recovery._places.release()
    assert len(given) == 2
    assert not mail.outbox


def test_the_mail_goes_out_beside_the_request(own_database, monkeypatch):
    UserFactory.create(email="ada@example.com", password=PASSWORD)
    sent: list[Any] = []
    monkeypatch.setattr(recovery._post, "submit", lambda *call: sent.append(submit(*call)))
    assert Api().post("auth/password/reset", {"email": "ada@example.com"}).status_code == 204
    sent[0].result(20)
    assert confirm(key_of(mail.outbox[-1])).status_code == 204
    submit(close_old_connections).result(20)


def test_an_address_is_confirmed_by_the_key_that_was_sent_there(db, settings):
    settings.EMAIL_VERIFICATION = settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    ask = {"email": "ada@example.com", "password": PASSWORD}
    Api().post("auth/register", ask)
    [key] = re.findall(r"/confirm-email/([^/\s]+)/", str(mail.outbox[-1].body))
    problem(Api().post("auth/login", ask), 403)
    assert Api().post("auth/verify", {"key": key}).status_code == 204
    assert Api().post("auth/login", ask).status_code == 200
    assert pointers(Api().post("auth/verify", {"key": key[:-1]})) == ["#/key"]
    assert Entry.objects.get(action="user.verify").actor == "ada@example.com"


def test_a_password_that_is_changed_on_a_page_ends_login_tokens_and_is_on_record(ada):
    api, browser = login_of(ada), Client()
    browser.post("/accounts/login/", {"login": ada.email, "password": PASSWORD})
    assert Entry.objects.get(action="user.login").actor == ada.email
    form = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    assert browser.post("/accounts/password/change/", form).status_code == 302
    problem(api.get("auth/me"), 401)
    assert Entry.objects.get(action="user.password").user_id == ada.pk
