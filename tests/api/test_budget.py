"""What every endpoint costs in statements: at most four to read and twelve to change, and exactly so many where more is needed.

The world they are asked about has one of everything; that lists cost no more for more is in test_statements.
"""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Role, User
from apps.accounts.selectors.callers import SCOPES
from tests.api.caller import Api, login_of, token_of
from tests.api.test_roles import LOGINS_ONLY, STAFFS, several, undone
from tests.api.test_statements import FRAMES
from tests.api.world import ASKS, World
from tests.factories import MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db
READS = 4  # what a GET may take unless it is told otherwise here
WRITES = 12  # and anything else
MAY = {
    ("job", "GET"): 7,
    ("workflow", "GET"): 7,
    ("project-line", "GET"): 5,
    ("job-replay", "POST"): 15,
    ("dlq-job-replay", "POST"): 15,
    ("queue-dlq-replay", "POST"): 15,
    ("workflow-retry", "POST"): 15,
    ("reservation", "DELETE"): 14,
    ("org", "DELETE"): 14,
}


def caller_for(route: str, method: str, organization: Any) -> tuple[Api, User]:
    """Whoever may, with a token that was used within the minute: noting its use costs one statement a minute."""
    owner = MembershipFactory.create(organization=organization, role=Role.OWNER)
    if (route, method) == STAFFS:
        staff = UserFactory.create(is_staff=True)
        return login_of(staff), staff
    if route in LOGINS_ONLY or (route, method) == ("orgs", "POST"):
        return login_of(owner.user), owner.user
    api, _ = token_of(owner, *SCOPES)
    api.get("auth/me")
    return api, owner.user


def cost(api: Api, user: User, route: str, method: str, world: World) -> tuple[int, list[str]]:
    ask = ASKS[route, method]
    ask.give(world, user)
    with transaction.atomic(), CaptureQueriesContext(connection) as sent:
        answer: Any = api.send(method, ask.path(world), ask.said(world, method))
        transaction.set_rollback(True)
    assert answer.status_code == ask.status
    texts = [one["sql"] for one in sent.captured_queries if not one["sql"].startswith(FRAMES)]
    return len(texts), texts


@several(list(ASKS))
def test_no_endpoint_takes_more_statements_than_the_table_says(some, world, organization, subtests):
    for route, method in some:
        with subtests.test(route=route, method=method), undone():
            allowed = MAY.get((route, method), READS if method == "GET" else WRITES)
            count, texts = cost(*caller_for(route, method, organization), route, method, world)
            assert count <= allowed, "\n".join(texts)


@pytest.mark.parametrize(("route", "method"), MAY)
def test_the_table_allows_no_more_than_is_needed(route, method, world, organization):
    assert (route, method) in ASKS
    count, _ = cost(*caller_for(route, method, organization), route, method, world)
    assert count == MAY[route, method]
