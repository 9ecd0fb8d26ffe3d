"""Tokens: made for programs, shown once, never stronger than who made them, and ended at once."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils.timezone import now

from apps.accounts.models import ApiToken, Membership, Role
from apps.audit.models import Entry
from tests.api.caller import Api, login_of, pointers, problem, someone, token_of
from tests.factories import ApiTokenFactory, MembershipFactory, ProjectFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def member(organization) -> Membership:
    return MembershipFactory.create(organization=organization, role=Role.MEMBER)


@pytest.fixture
def place(organization) -> str:
    return f"orgs/{organization.pk}/tokens"


def make(api: Api, place: str, **fields: Any) -> Any:
    return api.post(place, {"name": "nightly", "scopes": ["read"], **fields})


def test_its_text_is_told_once_and_kept_nowhere(member, place):
    api = login_of(member.user)
    made = make(api, place).json()
    assert Api(made["token"]).get("auth/me").json()["scopes"] == ["read"]
    assert made["hint"] == made["token"][-4:]
    [listed] = api.get(place).json()["results"]
    assert "token" not in listed
    with connection.cursor() as cursor:
        for table in ("accounts_apitoken", "audit_entry"):
            cursor.execute(f"SELECT count(*) FROM {table} AS row WHERE row::text LIKE %s", [f"%{made['token'][3:-4]}%"])
            assert cursor.fetchone() == (0,)


def test_a_member_sees_their_own_and_an_admin_all(organization, member, place):
    mine, theirs = (
        ApiTokenFactory.create(user=member.user, organization=organization),
        ApiTokenFactory.create(organization=organization),
    )
    seen = [one["id"] for one in login_of(member.user).get(place).json()["results"]]
    assert seen == [str(mine.pk)]
    seen = [one["id"] for one in someone(organization, Role.ADMIN).get(place).json()["results"]]
    assert seen == [str(theirs.pk), str(mine.pk)]


def test_a_member_ends_their_own_and_an_admin_anybodys(organization, member):
    theirs = ApiTokenFactory.create(organization=organization)
    problem(login_of(member.user).delete(f"tokens/{theirs.pk}"), 403, "forbidden")
    api, mine = token_of(member, "read")
    assert login_of(member.user).delete(f"tokens/{mine.pk}").status_code == 204
    problem(api.get("auth/me"), 401, "not_authenticated")
    admin = someone(organization, Role.ADMIN)
    assert [admin.delete(f"tokens/{theirs.pk}").status_code for _ in range(2)] == [204, 204]
    assert Entry.objects.filter(action="token.revoke", target_id=str(theirs.pk)).count() == 1


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"scopes": []}, "#/scopes"),
        ({"scopes": ["everything"]}, "#/scopes"),
        ({"scopes": "read"}, "#/scopes"),
        ({"name": ""}, "#/name"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "#/expires_at"),
        ({"project": "01a22856-3bac-754a-b89f-8e8e9e32e5c7"}, "#/project"),
        ({"user_id": "01a22856-3bac-754a-b89f-8e8e9e32e5c7"}, "#/user_id"),
    ],
)
def test_what_is_wrong_is_named(member, place, fields, pointer):
    assert pointers(make(login_of(member.user), place, **fields))[0].startswith(pointer)


def test_a_project_of_somebody_else_is_none(member, place):
    theirs = ProjectFactory.create()
    assert pointers(make(login_of(member.user), place, project=str(theirs.pk))) == ["#/project"]


def test_one_for_a_project_reaches_no_other(organization, member, place):
    here, there = (ProjectFactory.create(organization=organization) for _ in range(2))
    made = make(login_of(member.user), place, project=str(here.pk), scopes=["operate"]).json()
    api = Api(made["token"])
    assert api.get(f"projects/{here.pk}").status_code == 200
    problem(api.get(f"projects/{there.pk}"), 404)
    problem(api.get(place), 403)


def test_a_token_makes_none_with_a_scope_it_lacks(organization, place):
    owner = MembershipFactory.create(organization=organization, role=Role.OWNER)
    api, _ = token_of(owner, "admin")
    assert make(api, place, scopes=["admin", "submit"]).status_code == 201
    problem(make(api, place, scopes=["submit", "worker"]), 403, "forbidden")
    for scope in ("read", "submit", "operate", "worker"):
        problem(make(token_of(owner, scope)[0], place), 403, "forbidden")


def test_a_token_makes_none_that_outlives_it(organization, place):
    soon = now() + timedelta(hours=1)
    api, _ = token_of(MembershipFactory.create(organization=organization, role=Role.OWNER), "admin", expires_at=soon)
    problem(make(api, place), 403, "forbidden")
    problem(make(api, place, expires_at=(soon + timedelta(hours=1)).isoformat()), 403, "forbidden")
    assert make(api, place, expires_at=(soon - timedelta(minutes=1)).isoformat()).status_code == 201


def test_one_that_has_expired_opens_nothing(member, place):
    made = make(login_of(member.user), place, expires_at=(now() + timedelta(hours=1)).isoformat()).json()
    assert Api(made["token"]).get("auth/me").status_code == 200
    ApiToken.objects.filter(pk=made["id"]).update(expires_at=now() - timedelta(seconds=1))
    problem(Api(made["token"]).get("auth/me"), 401)


def test_a_new_text_ends_the_old_one_and_keeps_the_rest(member, place):
    api = login_of(member.user)
    made = make(api, place, scopes=["submit"]).json()
    renewed = api.post(f"tokens/{made['id']}/rotate").json()
    assert {**renewed, "token": "", "hint": ""} == {**made, "token": "", "hint": ""}
    problem(Api(made["token"]).get("auth/me"), 401)
    assert Api(renewed["token"]).get("auth/me").json()["scopes"] == ["submit"]


def test_only_who_made_it_is_told_a_new_text(organization, member):
    """Else an admin would come by the rights of an owner."""
    owner = MembershipFactory.create(organization=organization, role=Role.OWNER)
    _, token = token_of(owner, "admin")
    problem(someone(organization, Role.ADMIN).post(f"tokens/{token.pk}/rotate"), 403, "forbidden")


def test_a_token_comes_by_no_more_through_another_ones_new_text(organization):
    owner = MembershipFactory.create(organization=organization, role=Role.OWNER)
    narrow, _ = token_of(owner, "admin", expires_at=now() + timedelta(hours=1))
    _, worker = token_of(owner, "worker", expires_at=now() + timedelta(minutes=1))
    _, lasting = token_of(owner, "admin")
    for other in (worker, lasting):
        problem(narrow.post(f"tokens/{other.pk}/rotate"), 403, "forbidden")


@pytest.mark.parametrize("ended", [{"revoked_at": now()}, {"expires_at": now() - timedelta(seconds=1)}])
def test_one_that_has_ended_is_not_woken_by_a_new_text(member, ended):
    _, token = token_of(member, "read")
    ApiToken.objects.filter(pk=token.pk).update(**ended)
    problem(login_of(member.user).post(f"tokens/{token.pk}/rotate"), 409, "conflict")


def test_who_is_shown_out_leaves_no_token_behind(organization, member):
    api, token = token_of(member, "read")
    owner = someone(organization, Role.OWNER)
    owner.delete(f"orgs/{organization.pk}/members/{member.user.pk}")
    owner.post(f"orgs/{organization.pk}/members", {"email": member.user.email, "role": "member"})
    problem(api.get("auth/me"), 401)
    assert Entry.objects.get(action="member.remove").after == {"tokens_ended": [str(token.pk)]}


def test_what_happens_to_one_is_on_record_with_who_and_before_and_after(organization, member, place):
    api = login_of(member.user)
    made = make(api, place).json()
    api.post(f"tokens/{made['id']}/rotate")
    api.delete(f"tokens/{made['id']}")
    made_: Any
    rotated: Any
    revoked: Any
    made_, rotated, revoked = Entry.objects.filter(target_id=made["id"]).order_by("id")
    assert [one.action for one in (made_, rotated, revoked)] == ["token.create", "token.rotate", "token.revoke"]
    assert {one.actor for one in (made_, rotated, revoked)} == {member.user.email}
    assert {one.organization_id for one in (made_, rotated, revoked)} == {organization.pk}
    assert made_.after["scopes"] == ["read"]
    assert (rotated.before["hint"], rotated.after["hint"]) == (made["hint"], revoked.before["hint"])
    assert revoked.before["revoked_at"] is None
    assert revoked.after["revoked_at"]
    assert not any("hash" in (facts or {}) for one in (made_, rotated, revoked) for facts in (one.before, one.after))


def test_a_token_in_an_address_opens_nothing_and_is_not_said_again(member):
    """Case H36: addresses stand in logs."""
    made: Any = ApiTokenFactory.create(user=member.user, organization=member.organization, scopes=["read"])
    for name in ("token", "access_token", "authorization"):
        problem(Api().get(f"auth/me?{name}={made.text}"), 401)
        refused = problem(Api(made.text).get(f"auth/me?{name}={made.text}"), 400, "unknown_field")
        assert made.text not in str(refused)
