"""Every socket route answers everybody as docs/roles.md says: nobody, strangers, each role, each scope; own, foreign, absent."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils.timezone import now
from uuid_utils.compat import uuid7

from apps.accounts.api.rules import SOCKETS
from apps.accounts.models import ApiToken, Project, Role, TokenKind
from apps.accounts.selectors.callers import COVERS, SCOPES
from apps.events.urls import websocket_urlpatterns
from tests.factories import ApiTokenFactory, MembershipFactory, ProjectFactory, UserFactory

pytestmark = pytest.mark.usefixtures("own_database")
ROUTES = [str(one.name) for one in websocket_urlpatterns if one.name]
HELLO = 0  # no refusal: the first frame says where the stream begins


def test_every_socket_route_has_a_rule():
    assert list(SOCKETS) == ROUTES


def callers(project: Project) -> dict[str, tuple[Any, int]]:
    """A token of everybody there is, and the code that their socket is closed with."""
    rule = SOCKETS["project-events-stream"]
    assert isinstance(rule.least, Role)
    found: dict[str, tuple[Any, int]] = {"nobody": (None, 4401), "nonsense": ("fp_nonsense", 4401)}
    home = project.organization
    login: dict[str, Any] = {"kind": TokenKind.LOGIN, "organization": None, "scopes": []}
    found["stranger"] = ApiTokenFactory.create(user=UserFactory.create(), **login), 4404
    for role in Role:
        member = MembershipFactory.create(organization=home, role=role)
        found[role.value] = ApiTokenFactory.create(user=member.user, **login), HELLO
    owner = MembershipFactory.create(organization=home, role=Role.OWNER).user
    for scope in SCOPES:
        token = ApiTokenFactory.create(user=owner, organization=home, scopes=[scope])
        found[f"scope {scope}"] = token, HELLO if rule.scope in COVERS[scope] else 4403
    for name, ended in (("revoked", {"revoked_at": now()}), ("expired", {"expires_at": now() - timedelta(seconds=1)})):
        token = ApiTokenFactory.create(user=owner, organization=home, scopes=["read"])
        ApiToken.objects.filter(pk=token.pk).update(**ended)
        found[name] = token, 4401
    return found


async def heard(reader: Any, token: Any, of: Any) -> int:
    socket = reader(token, of=of, headers=[(b"origin", b"http://localhost")])
    assert (await socket.connect(timeout=10))[0]
    first = await socket.receive_output(timeout=10)
    if first["type"] == "websocket.send" and b"error" not in str(first).encode():
        await socket.disconnect()
        return HELLO
    return int(first["code"]) if first["type"] == "websocket.close" else int(await socket.code())


async def test_everybody_hears_what_the_table_says(reader, project):
    said = {}
    wanted = await sync_to_async(callers)(project)
    for name, (token, _) in wanted.items():
        said[name] = await heard(reader, token, project)
    assert said == {name: code for name, (_, code) in wanted.items()}


async def test_what_is_foreign_or_absent_is_not_there(reader, project):
    wanted = await sync_to_async(callers)(project)
    foreign, absent = await sync_to_async(ProjectFactory.create)(), Project(pk=uuid7())
    for name in ("viewer", "owner", "scope read", "scope admin"):
        assert [await heard(reader, wanted[name][0], of) for of in (foreign, absent)] == [4404, 4404], name
