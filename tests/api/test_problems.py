"""Whatever goes wrong below /api is a problem with a code and the request's id, in development and production."""

import json

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404
from django.test import Client, RequestFactory
from psycopg_pool import PoolTimeout

from config import api as problems
from tests.api.caller import Api, pointers, problem

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("path", ["nothing", "jobs/x/y", "", "orgs/", "../admin"])
def test_a_path_where_nothing_stands(settings, debug, path):
    settings.DEBUG = debug
    problem(Api().get(path), 404, "not_found")


def test_pages_keep_their_own_404():
    assert Client().get("/nothing").headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE", "DELETE"])
def test_a_method_that_is_not_offered(api, method):
    answer = api.send(method, "orgs")
    problem(answer, 405, "method_not_allowed")
    assert "GET" in answer["Allow"]


def test_head_is_get_without_a_body(api):
    answer = api.send("HEAD", "auth/me")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("accept", ["application/problem+json", "text/html", "nonsense", "*/*"])
def test_json_is_what_there_is(api, accept):
    assert api.get("auth/me", Accept=accept)["Content-Type"] == "application/json"


def test_a_request_id_is_echoed_or_made(api):
    assert api.get("auth/me", **{"X-Request-Id": "mine-1"})["X-Request-Id"] == "mine-1"
    body = problem(api.get("nothing", **{"X-Request-Id": "mine-2"}), 404)
    assert body["request_id"] == "mine-2"
    assert problem(api.get("nothing", **{"X-Request-Id": "x\ty"}), 404)["request_id"] not in ("", "x\ty")


def test_answers_are_kept_by_nobody(api):
    assert api.get("auth/me")["Cache-Control"] == "no-store"
    assert api.get("orgs/x")["X-Content-Type-Options"] == "nosniff"


def test_every_fault_is_told_at_once(api, project):
    refused = api.post(f"projects/{project.pk}/queues", {"name": "A B", "timeout_ms": "5", "default_priority": 5000})
    assert sorted(pointers(refused)) == ["#/default_priority", "#/name", "#/timeout_ms"]


def test_fields_that_do_not_exist_are_refused_by_name(api, project, queue):
    made_up = {"name": "x", "in_flight": 5, "paused_at": None}
    body = problem(api.post(f"projects/{project.pk}/queues", made_up), 400, "unknown_field")
    assert [error["pointer"] for error in body["errors"]] == ["#/in_flight", "#/paused_at"]
    for field in ("target", "state", "fence", "id", "queue", "submitted_by"):
        refused = api.post(f"queues/{queue.pk}/jobs", {"type": "x", field: 1})
        assert [one["pointer"] for one in problem(refused, 400, "unknown_field")["errors"]] == [f"#/{field}"]


@pytest.mark.parametrize(
    ("answer", "error", "status"),
    [
        (problems.bad_request, SuspiciousOperation("x"), 400),
        (problems.forbidden, PermissionDenied("x"), 403),
        (problems.not_found, Http404("x"), 404),
    ],
)
def test_what_django_refuses_itself_is_a_problem_too(answer, error, status):
    request = RequestFactory().get("/api/v1/x")
    response = answer(request, error)
    assert (response.status_code, json.loads(response.content)["status"]) == (status, status)
    assert response["Content-Type"] == "application/problem+json"


def test_a_500_outside_of_any_endpoint_is_a_problem_without_details():
    try:
        raise RuntimeError("the secret")
    except RuntimeError:
        response = problems.server_error(RequestFactory().get("/api/v1/x"))
    assert json.loads(response.content)["code"] == "internal_error"  # type: ignore[attr-defined]
    assert b"secret" not in response.content  # type: ignore[attr-defined]


def test_a_page_says_so_while_the_database_is_away():
    try:
        raise OperationalError("no connection") from PoolTimeout("none after 5 s")  # as Django has it
    except OperationalError:
        response = problems.server_error(RequestFactory().get("/"))
    assert (response.status_code, response["Retry-After"]) == (503, "1")
    assert b"database does not answer" in response.content  # type: ignore[attr-defined]


def test_a_page_that_broke_says_something_else():
    try:
        raise RuntimeError("the secret")
    except RuntimeError:
        response = problems.server_error(RequestFactory().get("/"))
    assert response.status_code == 500
    assert b"secret" not in response.content  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_where_nothing_stands_a_program_is_told_so(api, queue, method):
    for path in ("nope", f"queues/{queue.pk}/jobs/", "jobs/xx/cancel"):
        problem(api.send(method, path, {}), 404, "not_found")
