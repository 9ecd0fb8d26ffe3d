"""Every list is pages of one shape, 50 rows unless said, whose cursors fit no other list."""

import pytest

from tests.api.caller import Api, pointers
from tests.api.test_drawn import SCHEMA
from tests.api.world import ASKS, World
from tests.factories import ProjectFactory

pytestmark = pytest.mark.django_db


def paged() -> dict[str, dict[str, object]]:
    """The parameter `limit` of every route that has a cursor."""
    found = {}
    for methods in SCHEMA["paths"].values():
        for one in methods.values():
            by_name = {parameter["name"]: parameter for parameter in one.get("parameters", [])}
            if "cursor" in by_name:
                found[one["operationId"].removesuffix("-get")] = by_name["limit"]["schema"]
    return found


PAGED = paged()


def test_every_list_is_one_of_them():
    lists = {
        route
        for (route, method), ask in ASKS.items()
        if method == "GET" and route.endswith("s") and not route.startswith("schema")
    }
    assert lists - set(PAGED) == {
        "auth-sessions",
        "job-logs",
        "project-events",
        "queue-series",
        "queue-stats",
    }


def test_each_takes_what_the_contract_says(api: Api, world: World, subtests):
    foreign = api.get(f"jobs?queue={world.queue}&state=queued,scheduled&limit=1").json()["next"]
    cursor = foreign.partition("cursor=")[2].partition("&")[0]
    for route, limit in PAGED.items():
        with subtests.test(route=route):
            assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 200, 50)
            path = ASKS[route, "GET"].path(world)
            at = f"{path}{'&' if '?' in path else '?'}"
            page = api.get(f"{at}limit=200").json()
            assert page.keys() == {"results", "next", "previous"}
            assert (page["next"], page["previous"]) == (None, None)
            for bad in ("0", "201", "x"):
                assert pointers(api.get(f"{at}limit={bad}")) == ["?limit"]
            assert pointers(api.get(f"{at}cursor={cursor}")) == ["?cursor"]
            first = api.get(f"{at}limit=1").json()
            assert len(first["results"]) <= 1
            assert bool(first["next"]) == (len(page["results"]) > 1)


def test_a_page_has_fifty_rows_unless_said(api: Api, organization):
    ProjectFactory.create_batch(52, organization=organization)
    page = api.get(f"orgs/{organization.pk}/projects").json()
    assert len(page["results"]) == 50
    assert len(api.get(f"orgs/{organization.pk}/projects?limit=51").json()["results"]) == 51
