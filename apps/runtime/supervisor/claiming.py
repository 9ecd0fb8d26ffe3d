"""The claim loop: fill the free slots, wait for a wake-up or the poll, start what was claimed."""

import asyncio
import contextlib
import logging
import math
import time
from uuid import UUID

import psycopg
import structlog

from apps import handlers
from apps.handlers import Handler
from apps.jobs.engine.claim import Claim, Claimed, Hint, Walk, claim_on
from apps.jobs.engine.ready import ready
from apps.runtime.executor import Run, Stop
from apps.runtime.supervisor.pool import Pool, PoolSpec, queues_of, types_of
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire
from apps.sql import Trouble, trouble

AT_ONCE = 16  # queues one claim looks at; a worker that serves more asks first which have work
BATCH_WAIT = 0.005  # seconds a busy worker waits for more slots to claim for together
NOT_READY_WAIT = 0.02  # seconds until executors that are being replaced are looked at again
SHARE = 4  # … unless this part of them is free
NOWHERE = UUID(int=0)

log = structlog.get_logger("fencepost.worker")


class Claiming:
    """Fills the slots of one pool."""

    def __init__(self, state: State, wire: Wire, pool: Pool, spec: PoolSpec | None) -> None:
        self.state = state
        self.wire = wire
        self.pool = pool
        self.spec = spec
        self.served: dict[UUID, str] | None = None  # what `queues` was chosen from
        self.queues: list[UUID] = []
        self.cursor = NOWHERE
        self.walk = Walk()
        # Half at a time: while one half is being reported, the other is claimed and runs.
        self.at_most = max(1, math.ceil(pool.slots / 2))
        self.full = False  # the last claim got all it asked for: there is more
        wanted = types_of(spec, state.options.pools, state.options.types or handlers.types())
        self.handlers: dict[str, Handler] = {name: found for name in wanted if (found := handlers.find(name))}
        self.offers = {name: round(one.timeout * 1000) if one.timeout else None for name, one in self.handlers.items()}
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
        got = await self._claim(limit)
        for job in got.jobs:
            self._start(job)
        self.full = len(got.jobs) == limit
        pool.empty = not got.jobs and not got.contended
        if pool.empty:
            if state.options.burst and not state.held and all(one.empty for one in state.pools):
                state.stop()
                return
            await asyncio.sleep(self.walk.rest)
            await self._wait(pool.has_work, min(state.options.poll_interval, max(self.walk.due_in, 0)))

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

    async def _claim(self, limit: int) -> Claimed:
        state = self.state
        session_id = state.session_id
        assert session_id is not None  # noqa: S101 — the supervisor registers before it claims
        queues = await self._queues()
        if not queues or not self.offers:
            return Claimed(jobs=[], candidates=0)
        # Who leaves when there is nothing left must have looked everywhere.
        hint = Hint() if state.options.burst else self.walk.hint(len(state.held))
        state.claims_begun += 1
        try:
            got = await self.wire.send(
                lambda connection: claim_on(
                    connection, session_id=session_id, queues=queues, offers=self.offers, limit=limit, hint=hint
                )
            )
        finally:
            state.claims_done += 1
            state.moved.set()
        self.walk.see(hint, got)
        return got

    async def _queues(self) -> list[UUID]:
        """The queues to claim from: all, or the next few that have work when there are many."""
        if self.served is not self.state.queues:
            self.served = self.state.queues
            self.queues = queues_of(self.spec, self.state.options.pools, self.served)
        served = self.queues
        if len(served) <= AT_ONCE:
            return served
        found = await self._ready_after(self.cursor, served)
        if not found and self.cursor != NOWHERE:
            found = await self._ready_after(NOWHERE, served)
        self.cursor = found[-1] if len(found) == AT_ONCE else NOWHERE
        return found

    async def _ready_after(self, cursor: UUID, served: list[UUID]) -> list[UUID]:
        return await self.wire.send(lambda connection: ready.on(connection, after=cursor, queues=served, limit=AT_ONCE))

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
