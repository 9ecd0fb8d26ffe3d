"""Coming in, staying in, and being shown out."""

from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from apps.accounts.models import ApiToken, TokenKind, User
from apps.accounts.selectors.tokens import is_one, new_text
from apps.audit.models import Entry
from tests.api.caller import Api, login_of, pointers, problem, token_of
from tests.factories import PASSWORD, MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db
RIGHT = {"email": "ada@example.com", "password": PASSWORD}


@pytest.fixture
def ada() -> User:
    return UserFactory.create(email="ada@example.com", password=PASSWORD)


def test_registering_answers_a_token_that_works(db):
    made = Api().post("auth/register", {"email": " Ada@Example.com".strip(), "password": PASSWORD, "name": "Ada"})
    assert made.status_code == 201
    token = made.json()["token"]
    me = Api(token["token"]).get("auth/me").json()
    assert me == {
        "id": token["user_id"],
        "email": "ada@example.com",
        "name": "Ada",
        "memberships": [],
        "scopes": None,
    }


def test_an_address_has_one_account_whatever_its_case(ada):
    problem(Api().post("auth/register", {"email": "ADA@example.com", "password": PASSWORD}), 409, "conflict")


@pytest.mark.parametrize("password", ["short", "password123", "ada@example.com"])
def test_a_weak_password_is_refused(db, password):
    assert "#/password" in pointers(Api().post("auth/register", {"email": "ada@example.com", "password": password}))


def test_where_addresses_are_confirmed_first_there_is_no_token_before(db, settings, mailoutbox):
    settings.EMAIL_VERIFICATION = settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    made = Api().post("auth/register", RIGHT)
    assert made.json()["token"] is None
    assert mailoutbox[0].to == ["ada@example.com"]
    problem(Api().post("auth/login", RIGHT), 403, "forbidden")
    User.objects.get().emailaddress_set.update(verified=True)  # type: ignore[attr-defined]
    assert Api().post("auth/login", RIGHT).status_code == 200


def test_login_answers_a_token_for_thirty_days(ada):
    answer = Api().post("auth/login", {**RIGHT, "email": "ADA@Example.com"}).json()
    assert is_one(answer["token"])
    assert answer["user_id"] == str(ada.pk)
    kept = ApiToken.objects.get(user=ada)
    assert kept.expires_at
    assert timedelta(days=29) < kept.expires_at - now() <= timedelta(days=30)
    assert answer["token"].encode() not in bytes(kept.hash)
    assert Entry.objects.filter(action="user.login", user_id=ada.pk).exists()


def test_wrong_and_unknown_are_told_the_same(ada):
    answers = [
        problem(Api().post("auth/login", body), 401)
        for body in ({**RIGHT, "password": "wrong"}, {"email": "eve@example.com", "password": "wrong"})
    ]
    assert answers[0]["detail"] == answers[1]["detail"]


def test_ten_failures_lock_the_account_for_that_address_and_the_right_password_is_no_hint(ada):
    wrong = {**RIGHT, "password": "wrong"}
    statuses = [Api().post("auth/login", wrong).status_code for _ in range(10)]
    assert statuses[:9] == [401] * 9
    locked = Api().post("auth/login", wrong)
    right = Api().post("auth/login", RIGHT)
    assert problem(locked, 429)["detail"] == problem(right, 429, "too_many_requests")["detail"]
    assert int(right["Retry-After"]) > 0
    elsewhere = Client(REMOTE_ADDR="192.0.2.7").post("/api/v1/auth/login", RIGHT, "application/json")
    assert elsewhere.status_code == 200


def test_an_address_that_is_only_claimed_does_not_count(ada):
    """Nobody gets round the lock by sending X-Forwarded-For themselves."""
    for number in range(10):
        Api().post("auth/login", {**RIGHT, "password": "wrong"}, **{"X-Forwarded-For": f"198.51.100.{number}"})
    problem(Api().post("auth/login", RIGHT, **{"X-Forwarded-For": "198.51.100.99"}), 429)


def test_tries_during_a_lock_do_not_prolong_it(ada):
    def later(minutes: int) -> None:
        AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=minutes))

    for _ in range(10):
        Api().post("auth/login", {"email": ada.email, "password": "wrong"})
    later(14)
    for password in (PASSWORD, "wrong"):
        problem(Api().post("auth/login", {"email": ada.email, "password": password}), 429)
    later(2)
    assert Api().post("auth/login", {"email": ada.email, "password": PASSWORD}).status_code == 200


def test_behind_a_proxy_only_the_guesser_is_locked_out(ada, settings):
    settings.TRUSTED_PROXIES = 1
    guesser, other = {"X-Forwarded-For": "198.51.100.1"}, {"X-Forwarded-For": "198.51.100.2"}
    for _ in range(10):
        Api().post("auth/login", {**RIGHT, "password": "wrong"}, **guesser)
    problem(Api().post("auth/login", RIGHT, **guesser), 429)
    assert Api().post("auth/login", RIGHT, **other).status_code == 200


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "198.51.100.1", "127.0.0.1"),
        (1, "198.51.100.1", "198.51.100.1"),
        (1, "6.6.6.6, 198.51.100.1", "198.51.100.1"),
        (2, "6.6.6.6, 198.51.100.1, 10.0.0.1", "198.51.100.1"),
        (1, "nonsense", None),
        (1, "", None),
    ],
)
def test_the_address_on_record_is_the_one_the_trusted_proxies_saw(ada, settings, proxies, forwarded, address):
    settings.TRUSTED_PROXIES = proxies
    Api().post("auth/login", RIGHT, **{"X-Forwarded-For": forwarded})
    assert Entry.objects.get(action="user.login").address == address


def test_a_success_forgets_the_failures_before_it(ada):
    for _ in range(2):
        for _ in range(9):
            Api().post("auth/login", {**RIGHT, "password": "wrong"})
        assert Api().post("auth/login", RIGHT).status_code == 200


def test_one_address_that_tries_many_accounts_is_stopped(ada, monkeypatch):
    monkeypatch.setattr("apps.accounts.api.passwords.FAILURES_MAX", 3)
    for number in range(3):
        problem(Api().post("auth/login", {"email": f"guess{number}@example.com", "password": "x"}), 401)
    problem(Api().post("auth/login", RIGHT), 429)


def test_one_address_makes_only_so_many_accounts(db, monkeypatch):
    monkeypatch.setattr("apps.accounts.api.passwords.REGISTRATIONS_MAX", 2)
    asks = [{"email": f"new{number}@example.com", "password": PASSWORD} for number in range(3)]
    assert [Api().post("auth/register", ask).status_code for ask in asks] == [201, 201, 429]


def test_logging_out_ends_the_token(ada):
    api = login_of(ada)
    assert api.post("auth/logout").status_code == 204
    problem(api.get("auth/me"), 401, "not_authenticated")


@pytest.mark.parametrize(
    "ended",
    [
        {"expires_at": now() - timedelta(seconds=1)},
        {"revoked_at": now()},
    ],
)
def test_a_token_that_has_ended_opens_nothing(ada, ended):
    api = login_of(ada)
    ApiToken.objects.update(**ended)
    problem(api.get("auth/me"), 401)


def test_a_user_who_is_shut_out_takes_their_tokens_along(ada):
    api = login_of(ada)
    User.objects.update(is_active=False)
    problem(api.get("auth/me"), 401)
    problem(Api().post("auth/login", RIGHT), 401)


def test_what_only_looks_like_a_token_costs_no_statement(db):
    text = new_text()
    alike = text[:-1] + ("0" if text[-1] != "0" else "1")
    with CaptureQueriesContext(connection) as sent:
        for token in (alike, "fp_", "x", text[:-1], f"{text}x"):
            problem(Api(token).get("auth/me"), 401)
    assert not sent.captured_queries


def test_use_is_noted_at_most_once_a_minute(ada):
    api = login_of(ada)
    api.get("auth/me")
    first = ApiToken.objects.get().last_used_at
    api.get("auth/me")
    assert first
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(seconds=61))
    api.get("auth/me")
    assert ApiToken.objects.get().last_used_at > first  # type: ignore[operator]


def test_a_new_password_ends_every_other_login(ada):
    here, there = login_of(ada), login_of(ada)
    page = Client()
    page.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    changed = here.post("auth/password", {"current_password": PASSWORD, "new_password": "twelve angry staples"})
    assert changed.status_code == 204
    assert here.get("auth/me").status_code == 200
    problem(there.get("auth/me"), 401)
    assert page.get("/api/v1/auth/me").status_code == 401
    problem(Api().post("auth/login", RIGHT), 401)
    assert Api().post("auth/login", {**RIGHT, "password": "twelve angry staples"}).status_code == 200


def test_the_old_password_is_asked_for(ada):
    refused = login_of(ada).post("auth/password", {"current_password": "wrong", "new_password": "twelve angry staples"})
    problem(refused, 401)


def test_an_api_token_neither_logs_out_nor_changes_passwords(organization):
    api, _ = token_of(MembershipFactory.create(organization=organization), "admin")
    problem(api.post("auth/logout"), 403)
    problem(api.post("auth/password", {"current_password": "a", "new_password": "b"}), 403)
    assert api.get("auth/me").json()["scopes"] == ["admin", "operate", "read", "submit"]


def test_a_session_reads_but_changes_only_with_the_csrf_token(ada):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get("/api/v1/auth/me").json()["email"] == ada.email
    make = ("/api/v1/orgs", {"name": "Acme"}, "application/json")
    problem(client.post(*make), 403, "forbidden")
    client.cookies["csrftoken"] = secret = "x" * 32
    assert client.post(*make, headers={"X-CSRFToken": secret}).status_code == 201


def test_kinds_of_tokens_stay_what_they_are(ada):
    Api().post("auth/login", RIGHT)
    assert ApiToken.objects.get().kind == TokenKind.LOGIN
