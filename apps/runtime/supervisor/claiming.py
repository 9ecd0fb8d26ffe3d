"""The claim loop: fill the free slots, wait for a wake-up or the poll, start what was claimed."""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import psycopg
import structlog

from apps import handlers
from apps.handlers import Handler
from apps.jobs.engine.claim import Claim, Claimed, Hint, Walk, claim_on
from apps.jobs.engine.claim_aimed import claim_aimed_on
from apps.runtime.executor import Run, Stop
from apps.runtime.supervisor.gating import Gating
from apps.runtime.supervisor.pool import Pool, PoolSpec, queues_of, types_of
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.turns import Turns
from apps.runtime.supervisor.wire import Call, Wire
from apps.sql import Trouble, trouble

BATCH_WAIT = 0.005  # seconds a busy worker waits for more slots to claim for together
NOT_READY_WAIT = 0.02  # seconds until executors that are being replaced are looked at again
LEAST_WAIT = 0.001  # seconds until a token comes, at least
SHARE = 4  # … unless this part of them is free
AIMED_FOR = 5.0  # seconds for which what waits for this worker is claimed too, once any was seen
AIMED_EVERY = 0.25  # seconds until a worker that always finds something looks whether there is any

log = structlog.get_logger("fencepost.worker")


class Claiming:
    """Fills the slots of one pool."""

    def __init__(self, state: State, wire: Wire, pool: Pool, spec: PoolSpec | None) -> None:
        self.state = state
        self.wire = wire
        self.pool = pool
        self.spec = spec
        self.served: dict[UUID, str] | None = None  # what `queues` was chosen from
        self.turns = Turns(wire.send)
        self.walk = Walk()
        # Half at a time: while one half is being reported, the other is claimed and runs.
        self.at_most = max(1, math.ceil(pool.slots / 2))
        self.plain_empty = False  # the last claim from queues without limits found nothing
        self.aimed_until = self.aimed_at = -math.inf
        self.odd = False  # whose turn it was when there was one slot for both kinds of queues
        self.full = False  # the last claim got all it asked for: there is more
        wanted = types_of(spec, state.options.pools, state.options.types or handlers.types())
        self.handlers: dict[str, Handler] = {name: found for name in wanted if (found := handlers.find(name))}
        self.offers = {name: round(one.timeout * 1000) if one.timeout else None for name, one in self.handlers.items()}
        self.gating = Gating(wire, self._send, self.offers, self.turns)
        self.talks = logging.getLogger("fencepost.worker").isEnabledFor(logging.INFO)

    async def run(self) -> None:
        """Claim until the worker stops. A database that is away is waited for."""
        while not self.state.stopping:
            try:
                await self._turn()
                self.state.claimed_at = time.monotonic()
            except (psycopg.Error, OSError) as error:
                if trouble(error) is Trouble.FATAL:
                    raise
                await self.wire.outage.pause(error)

    async def _turn(self) -> None:
        state = self.state
        if not await self._room():
            return
        pool = self.pool
        pool.has_work.clear()
        limit = min(state.room(pool), self.at_most)
        queues = await self._queues(limit)
        if state.stopping:
            return
        share = self._share(limit)
        limited = await self._claim_gated(queues, share) if share else 0
        got = await self._claim(queues, limit - limited)
        for job in got.jobs:
            self._start(job)
        self.full = limited + len(got.jobs) == limit
        found = bool(limited or got.jobs or got.contended)
        news = await self._look_for_aimed(busy=found)
        seen_all = bool(share) and not (self.turns.more or self.gating.again or news)
        pool.empty = seen_all and not found and not self.gating.left
        if seen_all and not found:
            if pool.empty and state.options.burst and not state.held and all(one.empty for one in state.pools):
                state.stop()
                return
            await asyncio.sleep(self.walk.rest)
            await self._wait(pool.has_work, self._patience())

    async def _room(self) -> bool:
        """Wait for free slots; with work at hand, for enough of them to be worth a claim."""
        state, pool = self.state, self.pool
        if state.drained or not state.lease_holds:
            await self._wait(state.stopped, state.options.poll_interval)
            return False
        if state.executor is not None and not state.executor.ready:
            await self._wait(state.stopped, NOT_READY_WAIT)
            return False
        pool.has_room.clear()
        if state.room(pool) <= 0:
            await self._wait(pool.has_room, state.options.poll_interval)
        if self.full and 0 < state.room(pool) < pool.slots // SHARE:
            pool.has_room.clear()
            await self._wait(pool.has_room, BATCH_WAIT)
        return state.room(pool) > 0 and not state.stopping

    def _patience(self) -> float:
        """Seconds to wait for a wake-up: a line that is to be walked again, or a token, comes without one."""
        return min(self.state.options.poll_interval, max(self.walk.due_in, 0), max(self.gating.waits, LEAST_WAIT))

    def _share(self, limit: int) -> int:
        """Of the room, that of queues with limits: half while there may be other work, and by turns where it is odd."""
        if self.plain_empty or not self.gating.known:
            return limit
        self.odd = not self.odd
        return (limit + self.odd) // 2

    async def _claim_gated(self, queues: Sequence[UUID], limit: int) -> int:
        """Claim where there are limits."""
        state = self.state
        assert state.session_id is not None  # noqa: S101 — the supervisor registers before it claims
        jobs = await self.gating.claim(state.session_id, queues, limit, state.weights, aimed=self._aimed)
        for job in jobs:
            self._start(job)
        return len(jobs)

    async def _claim(self, queues: Sequence[UUID], limit: int) -> Claimed:
        state = self.state
        session_id = state.session_id
        assert session_id is not None  # noqa: S101 — the supervisor registers before it claims
        self.plain_empty = False  # unless we see that it is so
        if not queues or not self.offers or not limit:
            return Claimed(jobs=[], candidates=0)
        # Who leaves when there is nothing left must have looked everywhere.
        hint = replace(Hint() if state.options.burst else self.walk.hint(len(state.held)), ahead=self.turns.ahead())
        look = claim_aimed_on if self._aimed else claim_on
        got: Claimed = await self._send(
            lambda connection: look(
                connection, session_id=session_id, queues=queues, offers=self.offers, limit=limit, hint=hint
            )
        )
        self.walk.see(hint, got)
        self.turns.see([job.queue_id for job in got.jobs], state.weights)
        self.plain_empty = not got.jobs
        # Of many queues the next ones may have limits where these have none.
        self.gating.hear(known=got.gated or (self.turns.rotates and self.gating.known))
        self.pool.gated = self.gating.known
        return got

    @property
    def _aimed(self) -> bool:
        """Does something wait for this worker, or for whoever comes first?"""
        return time.monotonic() < self.aimed_until

    async def _look_for_aimed(self, *, busy: bool) -> bool:
        """Look whether there is any: with nothing else to do, and now and then; True if that is news."""
        now, session_id = time.monotonic(), self.state.session_id
        if self._aimed or session_id is None or (busy and now - self.aimed_at < AIMED_EVERY):
            return False
        self.aimed_at = now
        if not await self.turns.aimed(session_id):
            return False
        self.aimed_until = time.monotonic() + AIMED_FOR
        return True

    async def _send[T](self, call: Call[T]) -> T:
        """A claim's call: whether one is on its way matters to whoever finds jobs that nobody knows."""
        self.state.claims_begun += 1
        try:
            return await self.wire.send(call)
        finally:
            self.state.claims_done += 1
            self.state.moved.set()

    async def _queues(self, limit: int) -> Sequence[UUID]:
        """The queues to claim from: all, or the next few that have work when there are many."""
        if self.served is not self.state.queues:
            self.served = self.state.queues
            self.turns.serve(queues_of(self.spec, self.state.options.pools, self.served))
        return await self.turns.next(limit, aimed_at=self.state.session_id if self._aimed else None)

    def _start(self, job: Claim) -> None:
        state = self.state
        assert state.executor is not None  # noqa: S101
        run = Run(job, self.handlers[job.type], state.queues.get(job.queue_id, ""))
        state.hold(run, self.pool)
        if self.talks:
            log.info(
                "job started", job_id=str(job.job_id), type=job.type, queue=run.queue,
                attempt=f"{job.attempt}/{job.max_attempts}", request_id=job.request_id,
            )  # fmt: skip
        state.executor.start(run)
        if not run.done:
            self._watch(run)

    def _watch(self, run: Run) -> None:
        """Stop the run at its time limit, and stop waiting for it a little later."""
        loop = asyncio.get_running_loop()
        run.timer = loop.call_later(max(run.claim.limit_seconds, 0), self._overdue, run)

    def _overdue(self, run: Run) -> None:
        executor = self.state.executor
        if executor is None or run.done:
            return
        executor.stop(run, Stop.TIMEOUT)
        asyncio.get_running_loop().call_later(1.0, executor.abandon, run)

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)
