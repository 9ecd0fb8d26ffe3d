"""What the schema allows, in every shape a generator finds: no 500, and no answer outside the schema."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import yaml
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from tests.api.caller import token_of
from tests.api.world import FILE, World, build

DOCUMENT = yaml.safe_load((Path(__file__).parents[2] / "docs" / "openapi.yaml").read_text())
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
SCHEMA.app = WSGIHandler()
FOUND: list[Any] = list(SCHEMA.get_all_operations())
OPERATIONS: dict[str, Any] = {one.ok().label: one.ok() for one in FOUND}
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
GONE = {
    "DELETE /api/v1/orgs/{org}",
    "DELETE /api/v1/projects/{project}",
    "DELETE /api/v1/queues/{queue}",
    "POST /api/v1/auth/logout",
}  # after these, all else would be 404 or 401


def known_of(world: World) -> dict[str, Any]:
    """What stands in an address, by the parameter's name."""
    return {
        "org": world.org,
        "project": world.project,
        "queue": world.queue,
        "policy": world.policy,
        "job": world.queued,
        "schedule": world.schedule,
        "workflow": world.workflow,
        "reservation": world.reservation,
        "batch": world.batch,
        "session": world.session,
        "user": world.user,
        "token": world.token,
        "login": world.login,
        "worker": world.worker,
        "name": FILE,
        "type": "noop",
    }


@pytest.fixture
def one_connection() -> Iterator[None]:
    """As the test client does it: a request must not close the connection of the test's own transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.django_db
@pytest.mark.usefixtures("one_connection")
@pytest.mark.parametrize("label", sorted(OPERATIONS.keys() - GONE))
def test_no_input_gets_an_answer_outside_the_schema(label, organization, owner, results, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    world = build(organization, results)
    api, _ = token_of(owner, "admin", "worker")
    _fuzz(label, known_of(world), api.headers)


def _fuzz(label: str, known: dict[str, Any], headers: dict[str, str]) -> None:
    @given(case=OPERATIONS[label].as_strategy())
    @settings(
        max_examples=8, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    def ask(case: Any) -> None:
        case.path_parameters = {name: str(known[name]) for name in case.path_parameters or {}}
        case.call_and_validate(headers=headers, checks=CHECKS)

    ask()
