"""Sockets that follow a project's events.

A refusal of status N closes the socket with code 4000 + N, after it was accepted, for a browser tells
a page nothing of a socket that was never opened. 4408: the reader was too slow; it may come back
with its last number.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

import psycopg
import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db.utils import Error as DatabaseError

from apps.audit.tail import Follower, check_cursor, follow
from apps.errors import BadInput, NotFound, Refusal
from apps.events.engine.progress import Watcher, watch
from apps.events.engine.reached import reached_on
from apps.events.selectors import admit, session_key_in
from apps.events.serializers import as_text, frame_of, hello, progress_of

PROTOCOL = "fencepost.v1"
TOKEN = "fencepost.token."  # noqa: S105
CHECK_SECONDS = 15.0  # between looks whether the reader may still read; each is a ping too
TICK_SECONDS = 1.0
SEND_SECONDS = 10.0  # what one frame may take to leave
BEHIND_MAX = 10_000  # frames, for a reader that had caught up
HEARD_MAX = 1024  # characters of one frame of a client's
UNAVAILABLE, TOO_SLOW, OUR_FAULT = 4503, 4408, 1011
NO_TEXT, TOO_LONG = 1003, 1009

log = structlog.get_logger(__name__)

type Receive = Callable[[], Awaitable[dict[str, Any]]]
type Send = Callable[[dict[str, Any]], Awaitable[None]]


def token_in(scope: dict[str, Any]) -> str | None:
    """The token offered as a subprotocol: it stands in no address and no log."""
    offered = [name for name in scope.get("subprotocols", []) if name.startswith(TOKEN)]
    return offered[0].removeprefix(TOKEN) if offered else None


class TooSlow(Exception):
    """The reader takes its frames more slowly than they come."""


class EventStream(AsyncWebsocketConsumer):  # type: ignore[misc]
    """`/api/v1/projects/{id}/events/stream?after=N`: what came after N, then what comes."""

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        self.over = asyncio.Event()
        self.serving: asyncio.Task[None] | None = None

        async def hear() -> dict[str, Any]:
            """What the client says, or that we are done with it: a stuck one would never say it is gone."""
            heard, over = asyncio.ensure_future(receive()), asyncio.ensure_future(self.over.wait())
            try:
                await asyncio.wait({heard, over}, return_when=asyncio.FIRST_COMPLETED)
                return heard.result() if heard.done() else {"type": "websocket.disconnect", "code": 1006}
            finally:
                heard.cancel()
                over.cancel()

        await super().__call__(scope, hear, send)

    async def connect(self) -> None:
        offered = self.scope.get("subprotocols", [])
        chosen = PROTOCOL if PROTOCOL in offered else next((o for o in offered if o.startswith(TOKEN)), None)
        await self.accept(subprotocol=chosen)
        self.serving = asyncio.create_task(self._serve())

    async def disconnect(self, code: int) -> None:
        if self.serving is not None:
            self.serving.cancel()
            await asyncio.gather(self.serving, return_exceptions=True)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing but `ping` is expected, so that nothing long is ever sent by a reader of ours."""
        if bytes_data is not None:
            await self._hang_up(NO_TEXT)
        elif text_data == "ping":
            await self.send("pong")
        elif len(text_data or "") > HEARD_MAX:
            await self._hang_up(TOO_LONG)

    async def _serve(self) -> None:
        code = OUR_FAULT
        try:
            await self._stream()
        except Refusal as refusal:
            code = 4000 + refusal.status
            await self._say({"v": 1, "kind": "error", "code": refusal.code, "detail": str(refusal), **refusal.extra})
        except (TooSlow, TimeoutError):
            code = TOO_SLOW
        except (psycopg.Error, DatabaseError, OSError) as error:
            code = UNAVAILABLE
            log.warning("event stream interrupted", error=str(error))
        finally:
            self.serving = None
            await self._hang_up(code)

    async def _stream(self) -> None:
        project_id, after, timeline = self._asked()
        await self._check(project_id)
        async with follow(project_id, complete=reached_on, after=after) as follower, watch(project_id) as watcher:
            check_cursor(follower.held, after=follower.seq, timeline=timeline)
            await self._say(hello(follower.held, follower.seq))
            await self._pump(follower, watcher)

    async def _pump(self, follower: Follower, watcher: Watcher) -> None:
        self.sent, caught_up = follower.seq, False
        reading = asyncio.create_task(follower.next())
        try:
            while True:
                await asyncio.wait({reading}, timeout=min(TICK_SECONDS, CHECK_SECONDS))
                await self._still_may(follower.project_id)
                if reading.done():
                    frames, reading = reading.result(), asyncio.create_task(follower.next())
                    for frame in frames:
                        await self._still_may(follower.project_id)
                        await self._say(frame_of(frame, follower.project_id))
                        self.sent = frame.seq
                for said in watcher.take():
                    await self._say(progress_of(said))
                caught_up = caught_up or not follower.behind
                if caught_up and follower.behind > BEHIND_MAX:
                    raise TooSlow
        finally:
            reading.cancel()

    async def _still_may(self, project_id: UUID) -> None:
        """Ask again once in a while whether the reader may read; and say so, which keeps proxies patient."""
        if time.monotonic() < self.due:
            return
        await self._check(project_id)
        await self._say({"v": 1, "kind": "ping", "seq": self.sent})

    async def _check(self, project_id: UUID) -> None:
        self.due = time.monotonic() + CHECK_SECONDS
        headers = dict(self.scope.get("headers", []))
        await database_sync_to_async(admit)(
            project_id=project_id,
            token=token_in(self.scope),
            session_key=session_key_in(headers.get(b"cookie", b"").decode("latin-1")),
        )

    def _asked(self) -> tuple[UUID, int | None, str | None]:
        asked = parse_qs(self.scope.get("query_string", b"").decode("latin-1"))
        after = asked.get("after", [""])[-1]
        if after and not (after.isascii() and after.isdigit() and len(after) < 19):
            raise BadInput.at("#/after", "Must be a number of this stream.")
        timeline = asked.get("timeline", [None])[-1]
        return self.scope["url_route"]["kwargs"]["project_id"], int(after) if after else None, timeline

    async def _say(self, frame: dict[str, Any]) -> None:
        async with asyncio.timeout(SEND_SECONDS):
            await self.send(as_text(frame))

    async def _hang_up(self, code: int) -> None:
        try:
            async with asyncio.timeout(1):
                await self.close(code=code)
        except (TimeoutError, OSError):
            pass
        finally:
            self.over.set()


class Nowhere(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Every other address: a socket that is told so."""

    async def connect(self) -> None:
        await self.accept()
        await self.close(code=4000 + NotFound.status)
