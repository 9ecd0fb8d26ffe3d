"""Who waits for what, and who is waked: one ear and one look a second for all claims that a process holds open.

Claims of the same queues and types are kin. Of kin one is waked at a time: if it sees more than it takes, as many of the
others are waked too; if it finds nothing, neither would they. So a single job wakes one of two hundred, and two hundred
jobs wake all of them within a few turns. A job that waits for one worker is no affair of its kin: the look wakes that one.
"""

import asyncio
import math
import signal
import threading
from collections import defaultdict, deque
from collections.abc import Iterable
from functools import partial
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
import structlog
from django.conf import settings

from apps.jobs.engine.ready import NOWHERE, Aimed, ready_after, ready_sessions
from apps.jobs.engine.wake import CHANNEL
from apps.runtime.services.remote import Wish
from apps.runtime.supervisor.wire import PATIENCE, Outage, Wire
from apps.sql import bounded, listen, open_async

TRIES = 4  # claims that are asked of the database at once
LOOKED = 20  # kin that one look wakes, in turn
IDLE = 10.0  # seconds without a claim, until nobody listens any more
QUIET = 30.0  # seconds without a word before we ask whether anybody is there
HEARD_MAX = 10_000  # queues whose last wake-up is remembered

log = structlog.get_logger("fencepost.remote")

type Kin = tuple[frozenset[UUID], frozenset[str], bool, UUID | None]  # whether it has room; whom it is reserved for


class Bell:
    """Of one event loop."""

    def __init__(self) -> None:
        self.tries = asyncio.Semaphore(TRIES)
        self.closing = asyncio.Event()  # the process is told to end: nobody waits any more
        self.mark = 0  # counts what was heard
        self.heard: dict[UUID, int] = {}
        self.heard_all = 0
        self.waiting: dict[Kin, deque[asyncio.Future[None]]] = {}
        self.sessions: dict[asyncio.Future[None], tuple[UUID, Kin]] = {}  # whose claim it is that waits
        self.timers: dict[Kin, asyncio.TimerHandle] = {}
        self.turn = 0  # of the kin, when there are more than one look wakes
        self.wire = Wire("remote claims")
        self.running: asyncio.Task[None] | None = None

    async def wait(self, wish: Wish, *, mark: int, seconds: float, gone: "asyncio.Future[None]") -> bool:
        """Wait until it may be worth asking again; False when the time is over, the caller has left or we are to end."""
        self._start()
        if wish.looked and self._rang(wish.queues, since=mark):
            return True
        if wish.token_in < math.inf:
            self._later(wish.kin, wish.token_in)
        waked = asyncio.get_running_loop().create_future()
        self.waiting.setdefault(wish.kin, deque()).append(waked)
        if wish.session_id is not None:
            self.sessions[waked] = (wish.session_id, wish.kin)
        try:
            await asyncio.wait({waked, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return waked.done() and not gone.done() and not self.closing.is_set()
        finally:
            self.sessions.pop(waked, None)
            self._leave(wish.kin, waked, gone=gone.done())

    def hear_of(self, wish: Wish) -> None:
        """Pass on what one of kin has come to."""
        if wish.jobs:
            self._ring(wish.kin, wish.more)
        elif not wish.looked:
            self._ring((wish.queues, wish.types, True, wish.reservation_id), 1)

    def hear(self, payload: str) -> None:
        """A wake-up: of the queues it names, or of all."""
        self.mark += 1
        named = {UUID(one) for one in payload.split(",") if one}
        if len(self.heard) + len(named) > HEARD_MAX:
            self.heard.clear()
            self.heard_all = self.mark
        self.heard |= dict.fromkeys(named, self.mark)
        if not named:
            self.heard_all = self.mark
        for kin in list(self.waiting):
            if kin[2] and (not named or not named.isdisjoint(kin[0])):
                self._ring(kin, 1)

    def close(self) -> None:
        """Let everybody go with what there is: nothing."""
        self.closing.set()
        for kin, waiting in list(self.waiting.items()):
            self._ring(kin, len(waiting))

    def _rang(self, queues: frozenset[UUID], *, since: int) -> bool:
        if self.mark == since:
            return False
        return self.heard_all > since or any(self.heard.get(one, 0) > since for one in queues)

    def _ring(self, kin: Kin, count: int) -> None:
        waiting = self.waiting.get(kin, deque())
        for _ in range(min(count, len(waiting))):
            waiting.popleft().set_result(None)

    def _ring_sessions(self, found: Iterable[Aimed]) -> None:
        """Wake those whose worker something waits for."""
        aimed: dict[UUID | None, set[UUID]] = defaultdict(set)
        for one in found:
            aimed[one.session_id].add(one.queue_id)
        for waked, (session_id, kin) in self.sessions.items():
            if not waked.done() and not aimed[session_id].isdisjoint(kin[0]):
                self.waiting[kin].remove(waked)
                waked.set_result(None)

    def _later(self, kin: Kin, seconds: float) -> None:
        """Wake one of kin when a queue of theirs admits another job."""
        if kin not in self.timers:
            self.timers[kin] = asyncio.get_running_loop().call_later(max(seconds, 0.001), self._due, kin)

    def _due(self, kin: Kin) -> None:
        del self.timers[kin]
        self._ring(kin, 1)

    def _leave(self, kin: Kin, waked: "asyncio.Future[None]", *, gone: bool) -> None:
        if waked.done():
            if gone:
                self._ring(kin, 1)  # what it was waked for is there for another
        elif kin in self.waiting:
            waked.cancel()
            self.waiting[kin].remove(waked)
        if not self.waiting.get(kin):
            self.waiting.pop(kin, None)

    def _start(self) -> None:
        if self.running is None or self.running.done():
            self.running = asyncio.create_task(self._run())
            _heed_the_end(self)

    async def _run(self) -> None:
        """Listen and look while anybody waits, and a little longer: who has been answered comes again."""
        ear = None if settings.POLL_ONLY else asyncio.create_task(self._listen())
        idle = 0.0
        try:
            while idle < IDLE and not self.closing.is_set():
                await asyncio.sleep(settings.POLL_INTERVAL)
                idle = 0.0 if self.waiting else idle + settings.POLL_INTERVAL
                if self.waiting:
                    await self._look()
        finally:
            if ear is not None:
                ear.cancel()
                await asyncio.gather(ear, return_exceptions=True)
            await self.wire.close()

    async def _listen(self) -> None:
        outage = Outage("remote wake-ups")
        while True:
            try:
                async with await open_async("remote wake-ups") as line:
                    while True:
                        async with bounded(line, PATIENCE):
                            await listen(line, CHANNEL)
                        outage.over()
                        self.hear("")  # whatever was said while nobody listened
                        async for notice in line.notifies(timeout=QUIET):
                            self.hear(notice.payload)
            except (psycopg.Error, OSError) as error:
                await outage.pause(error)

    async def _look(self) -> None:
        """Which of the queues that are waited for have work: a wake-up is only a hint, and some work comes without one."""
        wanted = frozenset().union(*(queues for queues, *_ in self.waiting))
        sessions = [session_id for session_id, _ in self.sessions.values()]
        try:
            busy = set(await ready_after(self.wire.send, after=NOWHERE, queues=wanted, limit=len(wanted)))
            aimed = await self.wire.send(partial(ready_sessions.on, sessions=sessions))
        except (psycopg.Error, OSError) as error:
            await self.wire.outage.pause(error)
            return
        self._ring_sessions(aimed)
        busy |= {one.queue_id for one in aimed if one.session_id is None}
        due = [kin for kin in self.waiting if not busy.isdisjoint(kin[0])]
        start = self.turn % len(due) if due else 0
        for kin in (due[start:] + due[:start])[:LOOKED]:
            self._ring(kin, 1)
        self.turn += LOOKED


_bells: WeakKeyDictionary[asyncio.AbstractEventLoop, Bell] = WeakKeyDictionary()


def bell() -> Bell:
    """The bell of this event loop."""
    return _bells.setdefault(asyncio.get_running_loop(), Bell())


def _heed_the_end(ours: Bell) -> None:
    """A server that is told to end waits for its requests, and these would take half a minute: let them go first."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)
        if not callable(before) or getattr(before, "of_bell", False):
            continue

        def end(number: int, frame: Any, before: Any = before) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(ours.close)
            before(number, frame)

        end.of_bell = True  # type: ignore[attr-defined]
        signal.signal(number, end)
