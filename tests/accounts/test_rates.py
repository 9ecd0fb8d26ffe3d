"""What is left of a minute is told on every answer; beyond it, wait."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.api import rates
from apps.accounts.api.rates import Minutes, minutes
from apps.accounts.models import Membership, Role
from tests.api.caller import Api, login_of, problem, token_of
from tests.factories import MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db
WRONG = {"email": "ada@example.com", "password": "x"}


@pytest.fixture
def member(organization) -> Membership:
    return MembershipFactory.create(organization=organization, role=Role.MEMBER)


def told(answer: Any) -> tuple[int, int]:
    return int(answer["RateLimit-Limit"]), int(answer["RateLimit-Remaining"])


def test_each_token_has_a_minute_of_its_own(member, settings):
    settings.RATE_PER_MINUTE = 2
    one, other = (token_of(member, "read")[0] for _ in range(2))
    assert [told(one.get("orgs")) for _ in range(2)] == [(2, 1), (2, 0)]
    refused = one.get("orgs")
    problem(refused, 429, "too_many_requests")
    assert told(refused) == (2, 0)
    assert 1 <= int(refused["RateLimit-Reset"]) == int(refused["Retry-After"]) <= 60
    assert told(other.get("orgs")) == (2, 1)


def test_a_minute_later_it_begins_anew(member, settings, monkeypatch):
    settings.RATE_PER_MINUTE = 1
    api, _ = token_of(member, "read")
    api.get("orgs")
    problem(api.get("orgs"), 429)
    monkeypatch.setattr(rates, "MINUTE", 0.0)  # so that any moment is a minute later
    assert api.get("orgs").status_code == 200


def test_the_doors_count_by_address_whoever_knocks(settings):
    settings.AUTH_RATE_PER_MINUTE = 3
    assert [told(Api().post("auth/login", WRONG)) for _ in range(3)] == [(3, 2), (3, 1), (3, 0)]
    problem(Api().post("auth/register", WRONG), 429)
    problem(login_of(UserFactory.create()).get("auth/me"), 429)
    elsewhere = Client(REMOTE_ADDR="192.0.2.7").post("/api/v1/auth/login", WRONG, "application/json")
    assert elsewhere.status_code == 401


def test_refusals_tell_it_too_and_zero_is_no_limit(member, settings):
    api, _ = token_of(member, "read")
    assert told(api.get("jobs"))[1] == settings.RATE_PER_MINUTE - 1
    settings.RATE_PER_MINUTE = 0
    assert "RateLimit-Limit" not in api.get("orgs")


def test_it_costs_no_statement(member, django_assert_num_queries):
    with django_assert_num_queries(0):
        minutes.count("somebody", 5)


def test_whoever_was_silent_longest_is_forgotten(monkeypatch):
    monkeypatch.setattr(rates, "REMEMBERED", 3)
    seen = Minutes()
    for who in "abcad":
        seen.count(who, 5)
    assert list(seen._seen) == ["c", "a", "d"]
