"""One worker: registers a session, runs the loops, drains on a signal, and ends with a code that says how."""

import asyncio
import os
import socket
import time
from collections.abc import Coroutine
from enum import IntEnum
from typing import Any

import psycopg
import structlog

from apps.runtime.executor import InProcess, Run, Stop
from apps.runtime.supervisor.beating import Beating, Fenced
from apps.runtime.supervisor.claiming import Claiming
from apps.runtime.supervisor.listening import Listening
from apps.runtime.supervisor.options import Options
from apps.runtime.supervisor.reporting import Reporting
from apps.runtime.supervisor.serving import Serving
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire
from apps.workers.engine.goodbye import goodbye
from apps.workers.engine.register import register

LAST_WORD = 5.0  # seconds the last reports and the goodbye may take
RELEASE_PATIENCE = 0.2  # seconds asynchronous handlers have to clean up when they are cancelled

log = structlog.get_logger("fencepost.worker")


class ExitCode(IntEnum):
    """What the process says when it ends; docs/runbook.md explains them."""

    FINE = 0
    FAILED = 1
    USAGE = 2  # a queue or type that does not exist, flags that make no sense
    SUPERSEDED = 3  # another process registered under the same name


class Supervisor:
    """Runs in one event loop; `stop` may be called from a signal handler, once or twice."""

    def __init__(self, options: Options) -> None:
        self.state = State(options)
        self.claims, self.reports, self.beats = Wire("claims"), Wire("reports"), Wire("beats")
        self.claiming = Claiming(self.state, self.claims)
        self.reporting = Reporting(self.state, self.reports)
        self.beating = Beating(self.state, self.beats)
        self.serving = Serving(self.state, self.beats)
        self.signals = 0
        self.stopped = asyncio.Event()
        self.hurried = asyncio.Event()

    def stop(self) -> None:
        """First call: claim no more and finish what runs. Second call: hand back what runs at once."""
        self.signals += 1
        self.state.stopping = True
        self.stopped.set()
        self.state.has_work.set()
        self.state.has_room.set()
        if self.signals > 1:
            self.hurried.set()

    async def run(self) -> ExitCode:
        """Work until told to stop, fenced by a successor, or (burst) out of work. Raises NotFound for queues."""
        await self.serving.look()
        self.serving.refuse_unknown()
        await self._register()
        try:
            return await self._work()
        finally:
            for wire in (self.claims, self.reports, self.beats):
                await wire.close()

    async def _register(self) -> None:
        options, state = self.state.options, self.state
        registered = await self.beats.send_until_answered(
            lambda connection: register.on(
                connection,
                uid=options.name,
                concurrency=options.concurrency,
                lease_seconds=options.lease,
                hostname=socket.gethostname(),
                pid=os.getpid(),
                version=options.version,
                queues=list(state.queues),
                types=sorted(self.claiming.handlers),
            )
        )
        state.session_id = registered.session_id
        state.beat_at = time.monotonic()
        state.executor = InProcess(slots=options.concurrency, session_id=registered.session_id, on_end=state.end)
        log.info(
            "worker started", worker=options.name, session_id=str(registered.session_id), fenced=registered.fenced,
            concurrency=options.concurrency, queues=len(state.queues), types=len(self.claiming.handlers),
        )  # fmt: skip

    async def _work(self) -> ExitCode:
        parts: list[Coroutine[Any, Any, None]] = [self.claiming.run(), self.beating.run(), self.reporting.run()]
        parts += [self.serving.run(), self._drained()]
        if not self.state.options.poll_only:
            parts.append(Listening(self.state).run())
        tasks = [asyncio.create_task(part) for part in parts]
        claiming, drained = tasks[0], tasks[4]
        try:
            while True:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if drained in done:
                    return ExitCode.FINE
                for task in done - {claiming}:
                    await task
                if claiming in done:
                    await claiming
                    tasks.remove(claiming)
        except Fenced as fenced:
            return await self._fenced(fenced)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._leave()

    async def _drained(self) -> None:
        """Wait for the signal, then for the handlers, at most for the grace; hand back the rest."""
        await self.stopped.wait()
        state, options = self.state, self.state.options
        log.info("worker drains", running=len(state.held), grace=options.grace)
        end = time.monotonic() + options.grace
        hurry = asyncio.create_task(self.hurried.wait())
        while state.held and not self.hurried.is_set() and (left := end - time.monotonic()) > 0:
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

    async def _fenced(self, fenced: Fenced) -> ExitCode:
        """Nothing counts any more: stop the handlers. A lapse is our own silence, a successor is an order to go."""
        state = self.state
        for run in list(state.held.values()):
            if state.executor:
                state.executor.stop(run, Stop.LOST)
        await asyncio.sleep(RELEASE_PATIENCE)
        for run in list(state.held.values()):
            if state.executor:
                state.executor.abandon(run)
        state.session_id = None
        if fenced.lapsed and not state.stopping:
            log.warning("session lapsed; starting a new one", worker=state.options.name)
            self._forget()
            await self._register()
            return await self._work()
        log.error("another process registered as this worker; ending", worker=state.options.name)
        return ExitCode.SUPERSEDED

    def _forget(self) -> None:
        state = self.state
        if state.executor:
            state.executor.close()
        state.held.clear()
        state.ended.clear()
        state.orphans.clear()
        self.beating.suspects.clear()

    async def _leave(self) -> None:
        """Report what has ended, say goodbye; not for longer than the last word may take."""
        state = self.state
        if state.executor:
            state.executor.close()
        if state.session_id is None:
            return
        try:
            async with asyncio.timeout(LAST_WORD):
                await self.reporting.flush()
                await self.beats.send(lambda connection: goodbye.on(connection, session_id=state.session_id))
        except (TimeoutError, psycopg.Error, OSError) as error:
            log.warning("left without a word; the lease will run out", error=str(error).strip())
        log.info("worker stopped", worker=state.options.name, session_id=str(state.session_id))
