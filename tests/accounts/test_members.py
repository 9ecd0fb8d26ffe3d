"""Organizations and who is in them; each change is on record."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from apps.accounts.models import Membership, Organization, Role
from apps.audit.models import Entry
from tests.api.caller import Api, login_of, pointers, problem, someone, stranger
from tests.factories import MembershipFactory, UserFactory


def test_who_makes_an_organization_owns_it(db):
    api = stranger()
    made = api.post("orgs", {"name": "Acme & Söhne"}).json()
    assert (made["slug"], made["role"]) == ("acme-sohne", "owner")
    assert [one["slug"] for one in api.get("orgs").json()["results"]] == ["acme-sohne"]


@pytest.mark.parametrize("slug", ["A", "a b", "ü", "a/b", "", "a\n", "-a", "a" * 129])
def test_a_slug_can_stand_in_an_address(db, slug):
    assert set(pointers(stranger().post("orgs", {"name": "Acme", "slug": slug}))) == {"#/slug"}


def test_a_slug_is_taken_once(db):
    stranger().post("orgs", {"name": "Acme"})
    problem(stranger().post("orgs", {"name": "Acme"}), 409, "conflict")


def test_members_are_let_in_changed_and_shown_out_on_record(organization, db):
    api = someone(organization, Role.ADMIN)
    person = UserFactory.create()
    path = f"orgs/{organization.pk}/members"
    made = api.post(path, {"email": person.email.upper(), "role": "viewer"})
    assert made.json()["user_id"] == str(person.pk)
    problem(api.post(path, {"email": person.email, "role": "viewer"}), 409)
    assert api.patch(f"{path}/{person.pk}", {"role": "member"}).json()["role"] == "member"
    assert api.delete(f"{path}/{person.pk}").status_code == 204
    problem(api.delete(f"{path}/{person.pk}"), 404)
    actions = Entry.objects.filter(organization_id=organization.pk).order_by("id")
    assert [
        (one.action, one.before and one.before.get("role"), one.after and one.after.get("role")) for one in actions
    ] == [
        ("member.add", None, "viewer"),
        ("member.change", "viewer", "member"),
        ("member.remove", "member", None),
    ]


def test_only_owners_make_and_unmake_owners(organization, db):
    admin, owner = someone(organization, Role.ADMIN), someone(organization, Role.OWNER)
    someone(organization, Role.OWNER)
    person = MembershipFactory.create(organization=organization).user
    path = f"orgs/{organization.pk}/members/{person.pk}"
    problem(admin.patch(path, {"role": "owner"}), 403)
    assert owner.patch(path, {"role": "owner"}).status_code == 200
    problem(admin.patch(path, {"role": "viewer"}), 403)
    problem(admin.delete(path), 403)
    assert owner.delete(path).status_code == 204


def test_the_last_owner_cannot_go(organization, db):
    me = MembershipFactory.create(organization=organization, role=Role.OWNER).user
    path = f"orgs/{organization.pk}/members/{me.pk}"
    problem(login_of(me).delete(path), 409, "conflict")
    problem(login_of(me).patch(path, {"role": "viewer"}), 409, "conflict")


def test_two_owners_cannot_leave_past_each_other(own_database, organization):
    owners = [MembershipFactory.create(organization=organization, role=Role.OWNER).user for _ in range(2)]
    apis = [login_of(owner) for owner in owners]

    def leave(number: int) -> int:
        try:
            return int(apis[number].delete(f"orgs/{organization.pk}/members/{owners[number].pk}").status_code)
        finally:
            connection.close()

    for _ in range(3):
        with ThreadPoolExecutor(2) as pool:
            statuses = sorted(pool.map(leave, range(2)))
        assert statuses in ([204, 409], [204, 404])
        assert Membership.objects.filter(organization=organization, role=Role.OWNER).count() == 1
        for owner in owners:
            Membership.objects.get_or_create(user=owner, organization=organization, defaults={"role": Role.OWNER})


def test_nothing_of_an_organization_can_be_set_that_is_not_offered(organization, db):
    api = someone(organization, Role.OWNER)
    for field in ("id", "slug", "created_at", "members", "role"):
        assert pointers(api.patch(f"orgs/{organization.pk}", {field: "x"})) == [f"#/{field}"]
    assert Organization.objects.get().slug == "acme"


def test_an_api_without_a_token_makes_nothing(db):
    problem(Api().post("orgs", {"name": "Acme"}), 401)
