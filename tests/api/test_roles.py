"""Every endpoint answers everybody as docs/roles.md says: nobody, strangers, each role, each scope; own, foreign, absent."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction
from django.urls import URLPattern, URLResolver, get_resolver

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.rules import RULES, Least, Rule
from apps.accounts.models import ApiToken, Role
from apps.accounts.selectors import caller_of_token
from apps.accounts.selectors.callers import COVERS, SCOPES
from apps.audit.models import Entry
from tests.api.caller import Api, login_of, pointers, problem, someone, stranger, token_of
from tests.api.world import ASKS, NOWHERE, SECRET, Ask, World, build
from tests.factories import MembershipFactory, OrganizationFactory, UserFactory

EVERY = [(route, method) for route, methods in RULES.items() for method in methods]
OF_A_ROLE = [one for one in EVERY if isinstance(RULES[one[0]][one[1]].least, Role)]
STAFFS = ("sysinfo", "GET")
LOGINS_ONLY = {"auth-logout", "auth-password", "auth-sessions", "auth-session"}  # no API token may, whatever its scope
SOME = 12
pytestmark = pytest.mark.django_db


@pytest.fixture
def foreign(results) -> World:
    return build(OrganizationFactory.create(), results)


@contextmanager
def undone() -> Iterator[None]:
    """What is done inside is taken back."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def call(api: Api, method: str, ask: Ask, world: World) -> Any:
    with undone():
        if api.headers and (caller := caller_of_token(api.headers["Authorization"].removeprefix("Bearer "))):
            ask.give(world, caller.user)
        return api.send(method, ask.path(world), ask.said(world, method))


def routes() -> Iterator[tuple[str, str]]:
    """Every method of every named route below /api/v1/."""

    def walk(patterns: Any, prefix: str) -> Iterator[tuple[str, URLPattern]]:
        for pattern in patterns:
            place = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, place)
            elif place.startswith("api/v1/"):
                yield place, pattern

    for _, pattern in walk(get_resolver().url_patterns, ""):
        view = getattr(pattern.callback, "cls", None) or getattr(pattern.callback, "view_class", None)
        for method in ("get", "post", "put", "patch", "delete"):
            if hasattr(view, method):
                yield str(pattern.name), method.upper()


def several(which: list[tuple[str, str]]) -> pytest.MarkDecorator:
    """Some endpoints in each test, for a world takes longer to make than to ask."""
    parts = [which[start : start + SOME] for start in range(0, len(which), SOME)]
    return pytest.mark.parametrize("some", parts, ids=["-".join(part[0]) for part in parts])


def test_every_route_has_a_rule_and_an_ask():
    assert sorted(routes()) == sorted(EVERY) == sorted(ASKS)


def test_every_endpoint_is_one_of_ours():
    names = {vars(one)["route"] for one in _below(Endpoint) if "route" in vars(one)}
    assert names == set(RULES) - {"schema", "schema-swagger", "schema-redoc"}


@several(EVERY)
def test_nobody_gets_in_but_at_open_doors(some, world, subtests):
    for route, method in some:
        with subtests.test(route=route, method=method):
            rule, ask = RULES[route][method], ASKS[route, method]
            answer = call(Api(), method, ask, world)
            assert answer.status_code == (ask.status if rule.least == Least.OPEN else 401)
            if answer.status_code == 401:
                problem(answer, 401, "not_authenticated")
                assert answer["WWW-Authenticate"].startswith("Bearer")


@several(OF_A_ROLE)
def test_each_role_may_what_the_table_says(some, world, organization, subtests):
    for route, method in some:
        with subtests.test(route=route, method=method):
            rule, ask = RULES[route][method], ASKS[route, method]
            for role in Role:
                answer = call(someone(organization, role), method, ask, world)
                assert isinstance(rule.least, Role)
                if role.level >= rule.least.level:
                    assert answer.status_code == ask.status, (role, answer.content)
                else:
                    problem(answer, 403, "forbidden")


@several([one for one in EVERY if one not in OF_A_ROLE + [STAFFS]])
def test_what_needs_no_role_is_for_strangers_too(some, world, subtests):
    for route, method in some:
        with subtests.test(route=route, method=method):
            assert call(stranger(), method, ASKS[route, method], world).status_code == ASKS[route, method].status


def test_what_is_for_staff_is_for_nobody_else(organization):
    assert RULES[STAFFS[0]][STAFFS[1]].least == Least.STAFF
    for api in (stranger(), someone(organization, Role.OWNER)):
        problem(api.get("sysinfo"), 403, "forbidden")
    sample = login_of(UserFactory.create(is_staff=True)).get("sysinfo").json()
    assert sample["memory"]["total"] > sample["memory"]["rss"] > 0


@several(OF_A_ROLE)
def test_what_is_foreign_or_absent_is_not_there(some, world, foreign, organization, subtests):
    for route, method in some:
        with subtests.test(route=route, method=method):
            owner = MembershipFactory.create(organization=organization, role=Role.OWNER)
            strong, _ = token_of(owner, *SCOPES)
            for api in (someone(organization, Role.OWNER), strong):
                answers = [
                    problem(call(api, method, ASKS[route, method], place), 404, "not_found")
                    for place in (foreign, NOWHERE)
                ]
                for answer in answers:
                    del answer["request_id"]
                assert answers[0] == answers[1]
            problem(call(stranger(), method, ASKS[route, method], world), 404, "not_found")


@several(EVERY)
def test_each_scope_opens_what_it_covers(some, world, organization, subtests):
    for route, method in some:
        with subtests.test(route=route, method=method):
            rule, ask = RULES[route][method], ASKS[route, method]
            owner = MembershipFactory.create(organization=organization, role=Role.OWNER)
            for scope in SCOPES:
                api, _ = token_of(owner, scope)
                answer = call(api, method, ask, world)
                if _opens(scope, route, method, rule):
                    assert answer.status_code == ask.status, (scope, answer.content)
                else:
                    problem(answer, 403, "forbidden")


def _opens(scope: str, route: str, method: str, rule: Rule) -> bool:
    if rule.least == Least.OPEN:
        return True
    if rule.least == Least.STAFF:
        return False  # the owner of an organization is no staff
    if route in LOGINS_ONLY or (route, method) == ("orgs", "POST"):
        return False
    return rule.scope is None or rule.scope in COVERS[scope]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER])
def test_a_token_is_no_stronger_than_its_makers_role_now(role, world, organization):
    maker = MembershipFactory.create(organization=organization, role=Role.ADMIN)
    api, _ = token_of(maker, "admin")
    rename = ("PATCH", f"projects/{world.project}", {"name": "Other"})
    assert api.send(*rename).status_code == 200
    maker.role = role
    maker.save()
    problem(api.send(*rename), 403, "forbidden")
    maker.delete()
    problem(api.send(*rename), 404, "not_found")


def test_a_token_stays_in_its_organization_and_its_project(world, organization, results):
    maker = MembershipFactory.create(organization=organization, role=Role.OWNER)
    elsewhere = MembershipFactory.create(user=maker.user, role=Role.OWNER)
    there = build(elsewhere.organization, results)
    here = build(organization, results)
    whole, _ = token_of(maker, "admin")
    narrow, token = token_of(maker, "admin")
    ApiToken.objects.filter(pk=token.pk).update(project=world.project)
    assert whole.get(f"queues/{here.queue}").status_code == 200
    problem(whole.get(f"queues/{there.queue}"), 404)
    assert narrow.get(f"queues/{world.queue}").status_code == 200
    problem(narrow.get(f"queues/{here.queue}"), 404)
    problem(narrow.get(f"orgs/{organization.pk}"), 404)
    problem(narrow.get(f"jobs/{here.queued}"), 404)


@pytest.mark.parametrize("path", ["jobs/{queued}", "jobs/{dead}", "schedules/{schedule}"])
def test_payloads_are_hidden_below_the_role_the_project_names(path, world, organization):
    someone(organization, Role.OWNER).patch(f"projects/{world.project}", {"hide_payloads_below": "member"})
    path = path.format(queued=world.queued, dead=world.dead, schedule=world.schedule)
    seen, hidden = (someone(organization, role).get(path) for role in (Role.MEMBER, Role.VIEWER))
    assert SECRET in seen.content.decode()
    assert SECRET not in hidden.content.decode()
    assert hidden.json()["payload_hidden"]
    problem(someone(organization, Role.VIEWER).get(f"jobs/{world.queued}/files/sheet.txt"), 403)


def test_a_queue_says_otherwise_than_its_project_whom_payloads_are_hidden_from(world, organization):
    owner, viewer = someone(organization, Role.OWNER), someone(organization, Role.VIEWER)
    owner.patch(f"projects/{world.project}", {"hide_payloads_below": "member"})
    problem(viewer.patch(f"queues/{world.queue}", {"hide_payloads_below": "viewer"}), 403)
    for least, hidden in (("viewer", False), ("owner", True), (None, True)):
        changed = owner.patch(f"queues/{world.queue}", {"hide_payloads_below": least})
        assert changed.json()["hide_payloads_below"] == least
        assert viewer.get(f"jobs/{world.queued}").json()["payload_hidden"] is hidden
    assert pointers(owner.patch(f"queues/{world.queue}", {"hide_payloads_below": "staff"})) == ["#/hide_payloads_below"]
    entry: Any = Entry.objects.filter(action="queue.update").latest("id")
    assert (entry.before, entry.after) == ({"hide_payloads_below": "owner"}, {"hide_payloads_below": None})


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("queues/{own.queue}/jobs", {"type": "x", "depends_on": ["{other.queued}"]}, "#/depends_on/0"),
        ("queues/{own.queue}/jobs", {"type": "x", "retry_policy": "{other.policy}"}, "#/retry_policy"),
        (
            "queues/{own.queue}/jobs/batch",
            {"jobs": [{"type": "x", "depends_on": ["{other.dead}"]}]},
            "#/jobs/0/depends_on/0",
        ),
        ("projects/{own.project}/queues", {"name": "x", "retry_policy": "{other.policy}"}, "#/retry_policy"),
    ],
)
def test_ids_in_bodies_do_not_reach_across(api, path, body, pointer, world, foreign):
    def filled(value: Any, other: World) -> Any:
        if isinstance(value, dict):
            return {key: filled(inner, other) for key, inner in value.items()}
        if isinstance(value, list):
            return [filled(inner, other) for inner in value]
        return value.format(own=world, other=other)

    for other in (foreign, NOWHERE):
        refused = api.post(path.format(own=world), filled(body, other))
        assert [error["pointer"] for error in problem(refused, 400)["errors"]] == [pointer]


def _below(kind: type) -> set[type]:
    return {kind, *(deeper for below in kind.__subclasses__() for deeper in _below(below))}
