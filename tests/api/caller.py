"""A program that calls the API."""

import json
from typing import Any

from django.http.response import HttpResponseBase
from django.test import Client

from apps.accounts.models import ApiToken, Membership, Organization, Role, TokenKind, User
from tests.factories import ApiTokenFactory, MembershipFactory, UserFactory

BASE = "/api/v1/"


class Api:
    """Sends JSON, with a token if there is one; an exception that gets out is a 500, as in production."""

    def __init__(self, token: str = "") -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def send(self, method: str, path: str, body: Any = None, *, key: str | None = None, **headers: str) -> Any:
        """The response; `body` is an object, or bytes as they are."""
        if key is not None:
            headers["Idempotency-Key"] = key
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        response: HttpResponseBase = self.client.generic(
            method, f"{BASE}{path}", raw, "application/json", headers={**self.headers, **headers}
        )
        return response

    def get(self, path: str, **headers: str) -> Any:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        return self.send("POST", path, {} if body is None else body, **options)

    def patch(self, path: str, body: Any) -> Any:
        return self.send("PATCH", path, body)

    def delete(self, path: str) -> Any:
        return self.send("DELETE", path)


def login_of(user: User) -> Api:
    """A caller with the token that a login answers."""
    token: Any = ApiTokenFactory.create(kind=TokenKind.LOGIN, user=user, organization=None, scopes=[])
    return Api(token.text)


def someone(organization: Organization, role: Role) -> Api:
    """Somebody new, with a role in an organization."""
    return login_of(MembershipFactory.create(organization=organization, role=role).user)


def stranger() -> Api:
    return login_of(UserFactory.create())


def token_of(member: Membership, *scopes: str, **fields: Any) -> tuple[Api, ApiToken]:
    """A caller with an API token of a member."""
    token: Any = ApiTokenFactory.create(
        user=member.user, organization=member.organization, scopes=list(scopes), **fields
    )
    return Api(token.text), token


def problem(response: Any, status: int, code: str = "") -> Any:
    """The body of a refusal, which must be one."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body = json.loads(response.content)
    assert body["status"] == status
    assert body["request_id"] == response["X-Request-Id"]
    assert {"type", "title", "detail", "code"} <= body.keys()
    assert code in ("", body["code"])
    return body


def pointers(response: Any) -> list[str]:
    """Where a refused input is wrong."""
    return [error["pointer"] for error in problem(response, 400)["errors"]]
