"""One worker: registers a session, runs the loops, drains on a signal, and ends with a code that says how."""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Coroutine
from enum import IntEnum
from typing import Any
from uuid import UUID

import psycopg
import structlog

from apps import handlers
from apps.errors import NotFound
from apps.runtime.executor import Executor, ForkServer, InProcess, Processes, Run, Stop
from apps.runtime.supervisor.beating import Beating, Fenced
from apps.runtime.supervisor.claiming import Claiming
from apps.runtime.supervisor.leaving import leave
from apps.runtime.supervisor.listening import Listening
from apps.runtime.supervisor.liveness import probed
from apps.runtime.supervisor.options import Options
from apps.runtime.supervisor.pool import strangers
from apps.runtime.supervisor.reporting import Reporting
from apps.runtime.supervisor.serving import Serving
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.tidying import Tidying
from apps.runtime.supervisor.wire import Wire
from apps.workers.engine.register import register

KILL_PATIENCE = 2.0  # seconds an executor that is killed may take to be gone
RELEASE_PATIENCE = 0.2  # seconds asynchronous handlers have to clean up when they are cancelled

log = structlog.get_logger("fencepost.worker")


class ExitCode(IntEnum):
    """What the process says when it ends; docs/runbook.md explains them."""

    FINE = 0
    FAILED = 1
    USAGE = 2  # a queue or type that does not exist, flags that make no sense
    SUPERSEDED = 3  # another process registered under the same name
    UNREPORTED = 4  # told to stop while the database was away: what had ended is not known there


class Supervisor:
    """Runs in one event loop; `state.stop` may be called from a signal handler, once or twice."""

    def __init__(self, options: Options, server: ForkServer | None = None) -> None:
        self.state = State(options)
        self.server = server  # of the executors; without one, handlers run in this process
        self.claims, self.reports, self.beats = Wire("claims"), Wire("reports"), Wire("beats")
        specs = (None, *options.pools)
        self.claiming = [Claiming(self.state, self.claims, *pair) for pair in zip(self.state.pools, specs, strict=True)]
        self.reporting = Reporting(self.state, self.reports)
        self.beating = Beating(self.state, self.beats)
        self.serving = Serving(self.state, self.claims)
        self.tidying = Tidying(self.claims)
        self.probes = probed(self.state, (self.claims, self.beats))

    async def run(self) -> ExitCode:
        """Work until told to stop, fenced by a successor, or (burst) out of work. Raises NotFound for queues."""
        try:
            await self.serving.look(patiently=True)
            self.serving.refuse_unknown()
            self._refuse_strangers()
            return await self._sessions()
        except (psycopg.Error, OSError):
            if self.state.stopping and self.state.session_id is None:
                return ExitCode.FINE  # told to stop while it waited for the database
            raise
        finally:
            for wire in (self.claims, self.reports, self.beats):
                await wire.close()

    def _code(self) -> ExitCode:
        if self.state.held:
            return ExitCode.UNREPORTED
        return ExitCode.FAILED if self.state.broken else ExitCode.FINE

    async def _sessions(self) -> ExitCode:
        """One after another: a process that was silent for too long begins a new one."""
        while not self.state.stopped.is_set():
            await self._register()
            try:
                await self._work()
                return self._code()
            except Fenced as fenced:
                await self._drop_all()
                if not fenced.lapsed:
                    log.error("another process registered as this worker", worker=self.state.options.name)
                    return ExitCode.SUPERSEDED
                if self.state.stopping:
                    log.error("session lapsed while it drained; its jobs run elsewhere")
                    return ExitCode.UNREPORTED
                log.warning("session lapsed; starting a new one", worker=self.state.options.name)
        return ExitCode.FINE  # told to stop before it had begun

    async def _register(self) -> None:
        options, state = self.state.options, self.state
        sample = await self.beating.sampling.take()
        registered = await self.beats.send_until_answered(
            lambda connection: register.on(
                connection,
                uid=options.name,
                concurrency=options.slots,
                lease_seconds=options.lease,
                hostname=socket.gethostname(),
                pid=os.getpid(),
                version=options.version,
                queues=list(state.queues) if options.queues else [],  # none: every one, those made later too
                types=sorted({name for claiming in self.claiming for name in claiming.handlers}),
                pools={"default": {"slots": options.concurrency}}
                | {pool.name: {"slots": pool.slots, "for": list(pool.items)} for pool in options.pools},
                capabilities=options.capabilities,
                sample=sample,
            ),
            until=state.stopped,
        )
        state.session_id = registered.session_id
        state.registered.set()
        state.beat_at = time.monotonic()
        state.executor = self._executor(registered.session_id)
        log.info(
            "worker started", worker=options.name, session_id=str(registered.session_id), fenced=registered.fenced,
            concurrency=options.slots, processes=options.processes, queues=len(state.queues),
        )  # fmt: skip

    def _executor(self, session_id: UUID) -> Executor:
        options, state = self.state.options, self.state
        if self.server is None:
            return InProcess(slots=options.slots, session_id=session_id, on_end=state.end)
        return Processes(
            server=self.server,
            count=options.processes,
            slots=options.slots,
            session_id=session_id,
            on_end=state.end,
            on_broken=state.break_off,
            jobs_max=options.jobs_per_process,
            memory_max=options.memory_per_process << 20,
        )

    def _refuse_strangers(self) -> None:
        """Raise NotFound for a pool of what this worker does not serve."""
        offered = self.state.options.types or handlers.types()
        if missing := strangers(self.state.options.pools, self.state.queues, offered):
            raise NotFound(f"--pool names {', '.join(sorted(missing))}: no queue or type that this worker serves.")

    async def _work(self) -> None:
        """One session: until drained, or Fenced."""
        reporting = asyncio.create_task(self.reporting.run())
        drained = asyncio.create_task(self._drained())
        tasks = {asyncio.create_task(part) for part in self._parts()} | {reporting, drained}
        left = set(tasks)
        try:
            while not drained.done():
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()  # claiming ends when the worker stops; the others only by an error
            await self._leave(reporting)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _parts(self) -> list[Coroutine[Any, Any, None]]:
        parts = [
            *(claiming.run() for claiming in self.claiming),
            self.beating.run(),
            self.serving.run(),
            self.tidying.run(),
            self.reporting.pass_lines_on(),
        ]
        return parts if self.state.options.poll_only else [*parts, Listening(self.state).run()]

    async def _drained(self) -> None:
        """Wait for the signal, then for the handlers, at most for the grace; hand back the rest."""
        await self.state.stopped.wait()
        state, options = self.state, self.state.options
        log.info("worker drains", running=len(state.held), grace=options.grace)
        end = time.monotonic() + options.grace
        hurry = asyncio.create_task(state.hurried.wait())
        while (state.held or state.claiming) and not state.hurried.is_set() and (left := end - time.monotonic()) > 0:
            state.moved.clear()
            moved = asyncio.create_task(state.moved.wait())
            await asyncio.wait({moved, hurry}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            moved.cancel()
        hurry.cancel()
        await self._release(list(state.held.values()))

    async def _release(self, runs: list[Run]) -> None:
        """Hand back what still runs; it spends no attempt."""
        executor = self.state.executor
        if not runs or executor is None:
            return
        for run in runs:
            executor.stop(run, Stop.RELEASED)
        await asyncio.sleep(RELEASE_PATIENCE)
        for run in runs:
            executor.abandon(run)
        with contextlib.suppress(TimeoutError):  # an executor that is killed takes a moment to end
            async with asyncio.timeout(KILL_PATIENCE):
                while self.state.held:
                    self.state.moved.clear()
                    await self.state.moved.wait()

    async def _drop_all(self) -> None:
        """The session is over: nothing that runs here counts any more."""
        state = self.state
        if state.executor:
            for run in list(state.held.values()):
                state.executor.stop(run, Stop.LOST)
            await asyncio.sleep(RELEASE_PATIENCE)
            for run in list(state.held.values()):
                state.executor.abandon(run)
            state.executor.close()
        state.forget()
        self.beating.suspects.clear()

    async def _leave(self, reporting: asyncio.Task[None]) -> None:
        state = self.state
        assert state.executor is not None  # noqa: S101 — there was a session
        state.executor.close()
        await leave(state, self.reporting, reporting, self.beats)
        log.info("worker stopped", worker=state.options.name, session_id=str(state.session_id))
