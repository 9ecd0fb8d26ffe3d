"""Claims that wait. Each is asked of the endpoint as it is, and while it finds nothing it waits here: no thread of its
own, no connection of its own. Whoever is waked asks the endpoint once more, so that a token that was revoked meanwhile,
a session that ended or a role that was taken away counts at once.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog
from channels.db import database_sync_to_async
from django.db.utils import Error as DatabaseError

from apps.runtime.consumers.bell import Bell, bell
from apps.runtime.services import remote

BODY_MAX = 65_536  # a claim that says more is not held open
_CLAIM = re.compile(r"/api/v1/worker/sessions/[0-9a-fA-F-]{36}/claim")

log = structlog.get_logger("fencepost.remote")

type Message = dict[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


def door(inner: App) -> App:
    """Django's application, with claims of remote workers that wait."""

    async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and _CLAIM.fullmatch(scope["path"]):
            await _Waiting(inner, scope, receive, send).run()
        else:
            await inner(scope, receive, send)

    return application


class _Waiting:
    """One claim."""

    def __init__(self, inner: App, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        self.inner, self.scope, self.receive, self.send = inner, scope, receive, send
        self.heard: list[Message] = []
        self.began = asyncio.get_running_loop().time()

    async def run(self) -> None:
        whole = await self._body()
        if not whole:
            await self.inner(self.scope, self._again, self.send)
            return
        async with self._watched() as gone:
            await self._wait(bell(), gone)

    async def _wait(self, at: Bell, gone: "asyncio.Future[None]") -> None:
        while True:
            async with at.tries:
                if gone.done():
                    return
                mark = at.mark
                wish, answer = await self._ask()
            at.hear_of(wish)
            left = wish.seconds - (asyncio.get_running_loop().time() - self.began)
            if wish.jobs or left <= 0 or at.closing.is_set():
                break
            if not await at.wait(wish, mark=mark, seconds=left, gone=gone):
                break
        if gone.done():
            await self._hand_back(wish)
            return
        for message in answer:
            await self.send(message)

    async def _ask(self) -> tuple[remote.Wish, list[Message]]:
        """The endpoint's answer, and what it says of a claim that found nothing."""
        wish, answer = remote.Wish(), []

        async def keep(message: Message) -> None:
            answer.append(message)

        said = iter(self.heard)

        async def say() -> Message:
            if (message := next(said, None)) is None:
                await asyncio.Future()  # it is cancelled when the answer is there
            return message or {}

        await self.inner({**self.scope, remote.WISH: wish}, say, keep)
        return wish, answer

    async def _body(self) -> bool:
        """Read the body; False for one that is too large to be kept, or a caller that has gone."""
        size, more = 0, True
        while more and size <= BODY_MAX:
            message = await self.receive()
            self.heard.append(message)
            if message["type"] != "http.request":
                return False
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        return size <= BODY_MAX

    async def _again(self) -> Message:
        """What was read already, then the rest."""
        return self.heard.pop(0) if self.heard else await self.receive()

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator["asyncio.Future[None]"]:
        """Notice a caller that hangs up: nobody must claim for it."""

        async def listen() -> None:
            while (await self.receive())["type"] != "http.disconnect":
                pass

        gone = asyncio.ensure_future(listen())
        try:
            yield gone
        finally:
            gone.cancel()

    async def _hand_back(self, wish: remote.Wish) -> None:
        """The caller left while its claim was under way."""
        if wish.session_id is None or not wish.jobs:
            return
        try:
            released = await database_sync_to_async(remote.hand_back)(session_id=wish.session_id, jobs=wish.jobs)
        except (DatabaseError, OSError) as error:
            log.warning("jobs of a claim that nobody heard of not handed back", error=str(error).strip())
            return
        log.info("claim handed back: its caller had gone", session_id=str(wish.session_id), jobs=released)
