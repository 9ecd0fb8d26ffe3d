"""A reader of sockets, in this process or beyond it, and facts for it to read."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.utils import timezone

from apps.accounts.models import ApiToken, Project, Role
from apps.audit.models import Outbox
from apps.audit.relay import relay
from tests.factories import ApiTokenFactory, MembershipFactory

ORIGIN = (b"origin", b"http://localhost")


def tell(project: Project, *, jobs: int = 1, kind: str = "job.started", state: str | None = "running") -> list[UUID]:
    """Commit one fact about so many jobs and have it numbered."""
    ids = [uuid4() for _ in range(jobs)]
    Outbox.objects.create(project_id=project.pk, job_ids=ids, kind=kind, state=state, at=timezone.now())
    relay()
    return ids


atell = sync_to_async(tell)


@pytest.fixture
def token(own_database, project) -> ApiToken:
    """A token that may read the project, of a member of its organization."""
    member = MembershipFactory.create(organization=project.organization, role=Role.VIEWER)
    return ApiTokenFactory.create(user=member.user, organization=project.organization, scopes=["read"])


class Reader(WebsocketCommunicator):  # type: ignore[misc]
    """One socket, in this process."""

    async def frame(self) -> dict[str, Any]:
        return dict(await self.receive_json_from(timeout=10))

    async def frames(self, count: int) -> list[dict[str, Any]]:
        return [await self.frame() for _ in range(count)]

    async def code(self) -> int:
        """The code the socket is closed with, after whatever is still said."""
        while (said := await self.receive_output(timeout=10))["type"] != "websocket.close":
            pass
        return int(said["code"])


@pytest.fixture
def reader(project) -> Callable[..., Reader]:
    """Make a socket: of a token's holder, or with headers such as a cookie."""
    from config.asgi import application

    def make(
        token: str | ApiToken | None = None, *, query: str = "", headers: Any = (), of: Project = project
    ) -> Reader:
        text = token.text if isinstance(token, ApiToken) else token  # type: ignore[attr-defined]
        return Reader(
            application,
            f"/api/v1/projects/{of.pk}/events/stream?{query}",
            headers=[(b"host", b"localhost"), *headers],
            subprotocols=["fencepost.v1", f"fencepost.token.{text}"] if text else [],
        )

    return make


@pytest.fixture
async def listening(reader, token):
    """A socket that has said hello."""
    socket = reader(token)
    await socket.connect(timeout=10)
    assert (await socket.frame())["kind"] == "hello"
    yield socket
    await socket.disconnect()
