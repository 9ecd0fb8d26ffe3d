"""A name that is taken is a conflict that says so, and points at it."""

import pytest

from apps.accounts.models import Organization, Role
from apps.queues.models import Queue
from tests.api.caller import Api, problem, stranger
from tests.factories import MembershipFactory, OrganizationFactory, QueueFactory

pytestmark = pytest.mark.django_db
CRON = {"name": "new", "cron_expr": "@daily", "job_type": "noop"}
SLUG_OF_NAME = "The slug made from this name is taken: give another name, or a slug."


def taken(answer, pointer: str, detail: str = "This name is taken.") -> None:
    body = problem(answer, 409, "conflict")
    assert body["title"] == "This name, slug or address is taken."
    assert body["detail"] == detail
    assert body["errors"] == [{"pointer": pointer, "detail": detail}]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("projects/{project}/queues", {"name": "new"}),
        ("projects/{project}/retry-policies", {"name": "new"}),
        ("queues/{queue}/schedules", CRON),
    ],
)
def test_a_second_one_of_a_name_is_refused_and_so_is_a_third_that_takes_it_later(api, queue, path, body):
    place = path.format(project=queue.project_id, queue=queue.pk)
    assert api.post(place, body).status_code == 201
    taken(api.post(place, body), "#/name")
    other = api.post(place, {**body, "name": "other"}).json()["id"]
    if "schedules" in path or "policies" in path:
        taken(api.patch(f"{path.rpartition('/')[2]}/{other}", {"name": "new"}), "#/name")


def test_a_slug_is_pointed_at_where_it_was_given_and_the_name_where_it_was_not(api, organization: Organization):
    place = f"orgs/{organization.pk}/projects"
    api.post(place, {"name": "Shop"})
    taken(api.post(place, {"name": "Other", "slug": "shop"}), "#/slug", "This slug is taken.")
    taken(api.post(place, {"name": "Shop"}), "#/name", SLUG_OF_NAME)
    slug = OrganizationFactory.create(slug="the-others").slug
    taken(stranger().post("orgs", {"name": "x", "slug": slug}), "#/slug", "This slug is taken.")
    taken(stranger().post("orgs", {"name": "The others"}), "#/name", SLUG_OF_NAME)


def test_an_address_has_one_account_and_a_person_one_membership(api, organization: Organization):
    person = MembershipFactory.create(organization=organization, role=Role.VIEWER).user
    account = {"email": person.email.upper(), "password": "a long enough one"}
    taken(Api().post("auth/register", account), "#/email", "This address has an account already.")
    member = {"email": person.email, "role": "member"}
    taken(api.post(f"orgs/{organization.pk}/members", member), "#/email", "This person is a member already.")


def test_a_refused_name_leaves_nothing_behind_and_its_key_free(api, queue):
    QueueFactory.create(project=queue.project, name="new")
    place = f"projects/{queue.project_id}/queues"
    taken(api.post(place, {"name": "new"}, key="k"), "#/name")
    assert Queue.objects.filter(name="new").count() == 1
    assert api.post(place, {"name": "newer"}, key="k").status_code == 201


def test_other_conflicts_do_not_speak_of_names(api, organization, owner):
    body = problem(api.delete(f"orgs/{organization.pk}/members/{owner.user.pk}"), 409, "conflict")
    assert body["title"] == "Something is in a state that does not allow this."
    assert "errors" not in body
