"""What API.md says of all endpoints, asked of each: ids of requests, headers, times, numbers, and what bodies may not be."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from apps.accounts.api.rates import minutes
from apps.accounts.api.rules import RULES, Least
from apps.accounts.models import Membership
from tests.api.caller import Api, login_of, problem
from tests.api.test_budget import caller_for
from tests.api.test_roles import EVERY, several, undone
from tests.api.world import ASKS, NOWHERE, World

pytestmark = pytest.mark.django_db
TAKES_BODY = [one for one in EVERY if one[1] in ("POST", "PATCH")]
DRAWN = {"schema", "schema-swagger", "schema-redoc", "job-file"}  # not for programs, or files
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
ANSWERED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
SAFE = 2**53


@pytest.fixture
def member_token(owner: Membership) -> str:
    return login_of(owner.user).headers["Authorization"].removeprefix("Bearer ")


def ask(route: str, method: str, organization: Any, world: World, **headers: str) -> Any:
    """The answer to whoever may."""
    api, user = caller_for(route, method, organization)
    one = ASKS[route, method]
    with undone():
        one.give(world, user)
        return api.send(method, one.path(world), one.said(world, method), **headers)


def with_query(path: str, query: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}{query}"


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Everything that is no list or object, and where it stands."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{place}/{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, place)
    else:
        yield place, value


@several(EVERY)
def test_every_answer_names_its_request_and_what_is_left_of_the_minute_and_speaks_utc(
    some, world, organization, subtests
):
    for route, method in some:
        with subtests.test(route=route, method=method):
            answer = ask(route, method, organization, world, **{"X-Request-Id": "mine-1"})
            assert answer["X-Request-Id"] == "mine-1"
            if route in DRAWN:
                continue
            assert answer["Cache-Control"] == "no-store"
            left = [int(answer[f"RateLimit-{name}"]) for name in ("Limit", "Remaining", "Reset")]
            assert left[0] > left[1] >= 0
            assert 0 < left[2] <= 60
            if answer.headers.get("Content-Type") == "application/json":
                check_values(answer.json())


def check_values(told: Any) -> None:
    """Times in UTC, fences as text, and no number that a double cannot hold."""
    for place, value in leaves(told):
        if isinstance(value, str) and TIME.match(value):
            assert ANSWERED.fullmatch(value) or place.endswith(("/local", "/viewer")), place
        assert isinstance(value, str) or not place.endswith("fence"), place
        assert not isinstance(value, int) or abs(value) < SAFE, place


@several(TAKES_BODY)
def test_no_endpoint_takes_what_is_no_object_of_known_fields(some, world, organization, subtests):
    for route, method in some:
        with subtests.test(route=route, method=method), undone():
            minutes.forget()
            api, user = caller_for(route, method, organization)
            one = ASKS[route, method]
            one.give(world, user)
            path, body = one.path(world), one.said(world, method)
            for unknown, pointer in (
                (api.send(method, path, {**body, "nonsense~/": 1}), "#/nonsense~0~1"),
                (api.send(method, with_query(path, "nonsense=1"), body), "?nonsense"),
            ):
                assert [fault["pointer"] for fault in problem(unknown, 400, "unknown_field")["errors"]] == [pointer]
            for other in (b'{"a": 1, "a": 1}', b"[]", b"null", b"{"):
                problem(api.send(method, path, other), 400, "bad_input")
            plain = api.client.generic(method, f"/api/v1/{path}", b"{}", "text/plain", headers=api.headers)
            problem(plain, 415, "unsupported_media_type")


@pytest.mark.parametrize("name", ["token", "access_token", "api_key", "authorization"])
def test_a_token_in_an_address_opens_nothing_anywhere(name, member_token):
    for route, method in EVERY:
        if RULES[route][method].least != Least.OPEN:
            path = with_query(ASKS[route, method].path(NOWHERE), f"{name}={member_token}")
            answer = Api().send(method, path, {} if method in ("POST", "PATCH") else None)
            assert member_token not in str(problem(answer, 401, "not_authenticated")), (route, method)
