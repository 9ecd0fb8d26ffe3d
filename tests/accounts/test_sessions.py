"""Where one is logged in is listed, and ended. Case H36: sessions change things only with the CSRF token."""

from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session as DjangoSession
from django.test import Client

from apps.accounts.models import ApiToken, TokenKind, User
from apps.accounts.selectors.sessions import places
from apps.accounts.services import sessions
from apps.audit.models import Entry
from apps.audit.record import Actor
from tests.api.caller import Api, login_of, problem, token_of
from tests.factories import PASSWORD, MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db
PLACE = "/api/v1/auth/sessions"
BACKEND = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture
def ada() -> User:
    return UserFactory.create(email="ada@example.com", password=PASSWORD)


def browse(user: User) -> Client:
    """A browser that has logged in by the page and been somewhere."""
    browser = Client(headers={"User-Agent": "Firefox"})
    browser.post("/accounts/login/", {"login": user.email, "password": PASSWORD})
    assert browser.get(PLACE).status_code == 200
    return browser


def seen(answer: Any) -> set[tuple[str, str, bool]]:
    return {(one["way"], one["client"], one["current"]) for one in answer.json()["results"]}


def test_every_log_in_is_listed_and_the_one_that_asks_is_marked(ada):
    api = login_of(ada)
    browser = browse(ada)
    login_of(UserFactory.create())
    assert seen(api.get("auth/sessions")) == {("page", "Firefox", False), ("login", "", True)}
    assert seen(browser.get(PLACE)) == {("page", "Firefox", True), ("login", "", False)}


def test_each_ends_at_once(ada):
    api, other, browser = login_of(ada), login_of(ada), browse(ada)
    for place in api.get("auth/sessions").json()["results"]:
        if not place["current"]:
            assert api.delete(f"auth/sessions/{place['id']}").status_code == 204
            problem(api.delete(f"auth/sessions/{place['id']}"), 404, "not_found")
    problem(other.get("auth/me"), 401)
    assert browser.get(PLACE).status_code == 401
    assert seen(api.get("auth/sessions")) == {("login", "", True)}
    assert Entry.objects.filter(action="user.logout", user_id=ada.pk).count() == 2


def test_all_others_end_in_one_go_and_tokens_for_programs_stay(ada):
    program, _ = token_of(MembershipFactory.create(user=ada), "read")
    here, there, browser = login_of(ada), login_of(ada), browse(ada)
    assert here.delete("auth/sessions").status_code == 204
    assert here.get("auth/me").status_code == 200
    problem(there.get("auth/me"), 401)
    assert browser.get(PLACE).status_code == 401
    assert program.get("auth/me").status_code == 200


def test_pages_that_a_new_password_ended_are_not_listed_and_looking_deletes_none(ada):
    api, browser = login_of(ada), browse(ada)
    assert ("page", "Firefox", False) in seen(api.get("auth/sessions"))
    ada.set_password("another long secret")
    ada.save()
    assert seen(api.get("auth/sessions")) == {("login", "", True)}
    assert UserSession.objects.filter(user=ada).exists()
    assert DjangoSession.objects.exists()
    assert browser.get(PLACE).status_code == 401


def test_one_that_ended_meanwhile_does_not_keep_the_others(ada):
    [first, second] = [login_of(ada) for _ in range(2)]
    listed = places(ada, token_id=None, session_key=None)
    here = Actor(name=ada.email, user_id=ada.pk)
    sessions.end(user=ada, key=listed[0].id, actor=here)
    sessions.end_all(user=ada, places=listed, actor=here)
    for api in (first, second):
        problem(api.get("auth/me"), 401)
    assert Entry.objects.filter(action="user.logout").count() == 2


def test_other_peoples_are_not_there(ada):
    api, eve = login_of(ada), UserFactory.create(password=PASSWORD)
    login_of(eve)
    browser = browse(eve)
    theirs = [one["id"] for one in browser.get(PLACE).json()["results"]]
    assert len(theirs) == 2
    for key in (*theirs, "ffffffff-ffff-ffff-ffff-ffffffffffff"):
        problem(api.delete(f"auth/sessions/{key}"), 404)
    assert browser.get(PLACE).status_code == 200
    assert not ApiToken.objects.filter(kind=TokenKind.LOGIN).exclude(revoked_at=None).exists()


def test_a_session_ends_one_only_with_the_csrf_token(ada):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ada, backend=BACKEND)
    problem(browser.delete(PLACE), 403, "forbidden")
    browser.cookies["csrftoken"] = secret = "x" * 32
    assert browser.delete(PLACE, headers={"X-CSRFToken": secret}).status_code == 204


def test_a_token_counts_more_than_the_cookie_beside_it(ada):
    """Cookie and token of different people: the token says who calls, and no CSRF token is asked for."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(UserFactory.create(), backend=BACKEND)
    headers = login_of(ada).headers
    assert browser.get("/api/v1/auth/me", headers=headers).json()["email"] == ada.email
    assert browser.post("/api/v1/orgs", {"name": "A"}, "application/json", headers=headers).status_code == 201
    problem(browser.get("/api/v1/auth/me", headers={"Authorization": "Bearer fp_wrong"}), 401)


def test_nobody_lists_for_others(ada):
    problem(Api().get("auth/sessions"), 401)
    program, _ = token_of(MembershipFactory.create(user=ada), "admin")
    problem(program.get("auth/sessions"), 403, "forbidden")
