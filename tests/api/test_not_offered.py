"""What an endpoint does not offer can be neither set, nor sorted by, nor asked about: each is refused by its name."""

from typing import Any

import pytest

from apps.accounts.models import Role
from apps.audit.models import Entry
from tests.api.caller import Api, login_of, problem
from tests.api.test_roles import EVERY, call
from tests.api.world import ASKS, Ask, World
from tests.factories import MembershipFactory

pytestmark = pytest.mark.django_db
ID = "01a22856-3bac-754a-b89f-8e8e9e32e5c7"
# Columns, the tenant, powers, and what only the engine writes.
SET = {
    **dict.fromkeys(("id", "organization_id", "project_id", "submitted_by"), ID),
    **dict.fromkeys(("fence", "attempt", "rank"), 9),
    **dict.fromkeys(("is_staff", "is_superuser"), True),
    **dict.fromkeys(("created_at", "deleted_at"), "2027-03-14T07:00:00Z"),
    "__class__": "x",
}
ASKED = ("ordering", "order_by", "sort", "user__password__startswith", "id__gt", "organization_id")
OPEN = {"schema", "schema-swagger", "schema-redoc"}  # read no parameters of ours


@pytest.fixture
def owner(organization) -> Api:
    """An owner who is staff as well: no refusal is one of a role."""
    return login_of(MembershipFactory.create(organization=organization, role=Role.OWNER, user__is_staff=True).user)


def named(owner: Api, method: str, ask: Ask, world: World) -> set[str]:
    return {one["pointer"] for one in problem(call(owner, method, ask, world), 400)["errors"]}


def enlarged(ask: Ask, world: World, method: str, *, body: Any = None, query: str = "") -> Ask:
    """The same ask and more."""
    said, path = ask.said(world, method), ask.path(world)
    return Ask(
        lambda w: f"{path}{'&' if '?' in path else '?'}{query}",
        lambda: {**said, **body} if body else said,
        give=ask.give,
    )


def test_no_field_is_set_that_is_not_offered(owner, world, subtests):
    before = Entry.objects.count()
    for route, method in EVERY:
        if method in ("POST", "PATCH"):
            with subtests.test(route=route, method=method):
                ask = enlarged(ASKS[route, method], world, method, body=SET)
                assert named(owner, method, ask, world) >= {f"#/{name}" for name in SET}
    assert Entry.objects.count() == before


def test_nothing_is_asked_about_that_is_not_offered(owner, world, subtests):
    for route, method in EVERY:
        if route not in OPEN:
            with subtests.test(route=route, method=method):
                ask = enlarged(ASKS[route, method], world, method, query="&".join(f"{name}=a" for name in ASKED))
                assert named(owner, method, ask, world) >= {f"?{name}" for name in ASKED}
