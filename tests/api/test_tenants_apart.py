"""Nothing that a caller sends leads to another tenant's rows: ids in bodies, cursors, keys, filters, orders; one kind a test."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from apps.accounts.models import Idempotency, Role
from apps.accounts.selectors.callers import SCOPES
from apps.jobs.models import Job
from tests import acts
from tests.api.caller import Api, pointers, problem, someone, token_of
from tests.api.test_fuzz import DOCUMENT
from tests.api.world import NOWHERE, World, build
from tests.factories import MembershipFactory, OrganizationFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(results) -> World:
    return build(OrganizationFactory.create(), results)


@pytest.fixture
def strong(organization) -> Api:
    """A token that may everything in its organization."""
    return token_of(MembershipFactory.create(organization=organization, role=Role.OWNER), *SCOPES)[0]


def filled(value: Any, own: World, other: World) -> Any:
    if isinstance(value, dict):
        return {key: filled(inner, own, other) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, own, other) for inner in value]
    return value.format(own=own, other=other) if isinstance(value, str) else value


# Every id that a body can name: where it is sent, with what, and the pointer of the refusal.
IDS: list[tuple[str, str, dict[str, Any], str]] = [
    ("POST", "orgs/{own.org}/tokens", {"name": "x", "scopes": ["read"], "project": "{other.project}"}, "#/project"),
    ("PATCH", "queues/{own.queue}", {"retry_policy": "{other.policy}"}, "#/retry_policy"),
    ("POST", "projects/{own.project}/queues", {"name": "x", "retry_policy": "{other.policy}"}, "#/retry_policy"),
    ("POST", "queues/{own.queue}/jobs", {"type": "x", "retry_policy": "{other.policy}"}, "#/retry_policy"),
    ("POST", "queues/{own.queue}/jobs", {"type": "x", "depends_on": ["{other.queued}"]}, "#/depends_on"),
    ("POST", "queues/{own.queue}/jobs", {"type": "x", "workflow": "{other.workflow}"}, "#/workflow"),
    ("PATCH", "jobs/{own.scheduled}", {"depends_on": ["{other.queued}"]}, "#/depends_on"),
    (
        "POST",
        "queues/{own.queue}/jobs/batch",
        {"jobs": [{"type": "x", "depends_on": ["{other.queued}"]}]},
        "#/jobs/0/d",
    ),
    ("POST", "queues/{own.queue}/jobs/batch", {"jobs": [{"type": "x", "workflow": "{other.workflow}"}]}, "#/jobs/0/w"),
    (
        "POST",
        "queues/{own.queue}/jobs/batch",
        {"jobs": [{"type": "x", "retry_policy": "{other.policy}"}]},
        "#/jobs/0/r",
    ),
    ("POST", "queues/{own.queue}/jobs", {"type": "x", "required_worker": "{other.worker}"}, "#/required_worker"),
    ("POST", "jobs/{own.scheduled}/reassign", {"worker": "{other.worker}"}, "#/worker"),
    ("POST", "workflows/{own.workflow}/reassign", {"worker": "{other.worker}"}, "#/worker"),
    ("POST", "reservations", {"workflow": "{other.workflow}"}, "#/workflow"),
    ("POST", "reservations", {"workflow": "{own.unreserved}", "worker": "{other.worker}"}, "#/worker"),
    (
        "POST",
        "projects/{own.project}/workflows",
        {"jobs": [{"name": "a", "type": "x", "queue": "{other.queue}"}]},
        "#/jobs/0/queue",
    ),
    (
        "POST",
        "projects/{own.project}/workflows",
        {"jobs": [{"name": "a", "type": "x", "queue": "named", "required_worker": "{other.worker}"}]},
        "#/jobs/0/required_worker",
    ),
    ("POST", "worker/sessions", {"uid": "u", "types": ["x"], "organization": "{other.org}"}, "#/organization"),
    (
        "POST",
        "worker/sessions",
        {"uid": "u", "types": ["x"], "organization": "{own.org}", "queues": ["{other.queue}"]},
        "#/queues",
    ),
    ("POST", "worker/sessions/{own.session}/claim", {"queues": ["{other.queue}"]}, "#/queues"),
]


@pytest.mark.parametrize(("method", "path", "body", "pointer"), IDS)
def test_ids_in_bodies(method, path, body, pointer, world, other, strong, organization):
    for api in (strong, someone(organization, Role.OWNER)):
        said = []
        for place in (other, NOWHERE):
            refused = api.send(method, path.format(own=world), filled(body, world, place))
            if refused.status_code == 404:
                said.append(problem(refused, 404)["code"])
            else:
                [found] = pointers(refused)
                assert found.startswith(pointer)
                said.append(found)
        assert said[0] == said[1], "what is foreign must look as if it were not there"


def test_every_id_that_a_body_can_name_is_among_them():
    schemas = DOCUMENT["components"]["schemas"]
    tried = {name for _, _, body, _ in IDS for name in names_of(body)}
    for path, methods in DOCUMENT["paths"].items():
        for one in methods.values():
            for content in one.get("requestBody", {}).get("content", {}).values():
                assert set(ids_of(content["schema"], schemas)) <= tried | {"job", "after"}, (
                    path
                )  # each has a test of its own


def names_of(body: Any) -> Iterator[str]:
    if isinstance(body, list):
        for one in body:
            yield from names_of(one)
    if isinstance(body, dict):
        yield from body
        for inner in body.values():
            yield from names_of(inner)


def ids_of(schema: Any, schemas: Any, name: str = "") -> Iterator[str]:
    """The fields of a body that hold an id, however deep."""
    found = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if found.get("format") == "uuid":
        yield name
    for inner, below in found.get("properties", {}).items():
        yield from ids_of(below, schemas, inner)
    for below in (found.get("items"), *found.get("allOf", []), *found.get("oneOf", []), *found.get("anyOf", [])):
        if isinstance(below, dict):
            yield from ids_of(below, schemas, name)


def test_a_place_to_go_on_after_is_a_place_and_no_job(world, other, strong):
    """It is compared with, never looked up: of whose job it is nothing can be told."""
    told = []
    for place in (other.queued, UUID(int=other.queued.int + 1)):
        answer = strong.post(f"queues/{world.queue}/dlq/replay", {"after": str(place)}).json()
        assert answer.pop("upto") == str(place)
        told.append(answer)
    assert told[0] == told[1]


def test_a_worker_ends_and_holds_no_job_of_another_tenant(world, other, organization):
    api, _ = token_of(MembershipFactory.create(organization=organization, role=Role.MEMBER), "worker")
    path = f"worker/sessions/{world.session}"
    for job in (other.queued, NOWHERE.queued):
        named = {"job": str(job), "fence": "1"}
        ended = api.post(f"{path}/report", {"results": [{**named, "outcome": "success"}]})
        assert ended.json()["fenced"] == [named]
        told = api.post(f"{path}/heartbeat", {"held": [named], "progress": [{**named, "done": 1}]})
        assert told.json()["lost"] == [named]
    assert Job.objects.get(pk=other.queued).state == "queued"


def test_a_filter_names_only_what_is_ones_own(world, other, strong):
    for query in ("project={o.project}", "queue={o.queue}"):
        for path in ("jobs", "dlq", "workers"):
            problem(strong.get(f"{path}?{query.format(o=other)}"), 404, "not_found")
    for query in ("workflow={o.workflow}", "batch={o.batch}"):
        found = strong.get(f"jobs?project={world.project}&{query.format(o=other)}")
        assert found.json()["results"] == []
    trail = strong.get(f"orgs/{world.org}/audit?target={other.queue}")
    assert trail.json()["results"] == []


@pytest.mark.parametrize("path", ["jobs?project={w.project}", "projects/{w.project}/queues", "orgs/{w.org}/audit"])
def test_a_cursor_opens_only_the_list_it_was_made_for(path, world, other, organization):
    theirs = someone(type(organization).objects.get(pk=other.org), Role.OWNER)
    address = f"{path}{'&' if '?' in path else '?'}limit=1"
    for one in (other, world):
        acts.enqueue(_queue(one))
        someone(organization, Role.OWNER).patch(f"queues/{world.queue}", {"timeout_ms": 7000 + len(str(one))})
        theirs.patch(f"queues/{other.queue}", {"timeout_ms": 8000})
        theirs.patch(f"queues/{other.queue}", {"timeout_ms": 8001})
    page = theirs.get(address.format(w=other)).json()
    cursor = page["next"].partition("cursor=")[2].partition("&")[0]
    mine = someone(organization, Role.OWNER)
    assert pointers(mine.get(f"{address.format(w=world)}&cursor={cursor}")) == ["?cursor"]


def test_an_idempotency_key_of_one_tenant_is_free_for_another(world, other, organization):
    mine, theirs = (someone(type(organization).objects.get(pk=one.org), Role.OWNER) for one in (world, other))
    first = theirs.post(f"queues/{other.queue}/jobs", {"type": "x", "payload": "secret"}, key="k")
    second = mine.post(f"queues/{world.queue}/jobs", {"type": "x", "payload": "secret"}, key="k")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["id"] != second.json()["id"]
    assert Idempotency.objects.filter(key="k").count() == 2
    problem(mine.post(f"queues/{other.queue}/jobs", {"type": "x", "payload": "secret"}, key="k"), 404)


def test_a_unique_key_of_one_tenant_is_free_for_another(world, other, organization):
    ask = {"type": "x", "unique_key": "only-one"}
    made = [
        someone(type(organization).objects.get(pk=one.org), Role.OWNER).post(f"queues/{one.queue}/jobs", ask)
        for one in (world, other)
    ]
    assert [one.status_code for one in made] == [201, 201]
    assert Job.objects.filter(unique_key="only-one").count() == 2


def test_names_of_one_tenant_are_free_for_another(world, other, organization):
    for one in (world, other):
        api = someone(type(organization).objects.get(pk=one.org), Role.OWNER)
        assert api.post(f"projects/{one.project}/queues", {"name": "same"}).status_code == 201
        assert api.post(f"projects/{one.project}/retry-policies", {"name": "same"}).status_code == 201
        assert api.post(f"orgs/{one.org}/projects", {"name": "Same", "slug": "same"}).status_code == 201


@pytest.mark.parametrize(
    "query", ["order=name", "ordering=-id", "sort=payload", "fields=payload", "order_by=queue__project"]
)
def test_there_is_no_order_or_field_to_ask_for(query, world, strong):
    for path in (f"jobs?project={world.project}", "orgs?limit=1"):
        problem(strong.get(f"{path}&{query}"), 400, "unknown_field")


def _queue(world: World) -> Any:
    from apps.queues.models import Queue

    return Queue.objects.get(pk=world.queue)
