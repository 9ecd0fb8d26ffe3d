"""Run one worker in this process: the supervisor, and the scheduler's loops beside it."""

import asyncio
import contextlib
import gc
import logging
import os
import threading
from dataclasses import replace

import psycopg
import structlog
import uvloop

from apps import handlers
from apps.errors import BadInput, Refusal
from apps.runtime.executor import ForkServer, capture, main
from apps.runtime.runner import Runner
from apps.runtime.services import discover, signals
from apps.runtime.supervisor import ExitCode, Options, Supervisor

log = structlog.get_logger("fencepost.worker")


def work(options: Options) -> ExitCode:
    """Work until a signal says stop. Raises a refusal when the options name what does not exist."""
    discover.handlers()
    unknown = [name for name in options.types if handlers.find(name) is None]
    if unknown:
        raise BadInput.at("--types", f"There is no handler for {', '.join(unknown)}.")
    options = replace(options, types=handlers.with_aliases(options.types))
    if not handlers.types():
        raise BadInput("No installed app has a handlers.py with a handler in it.")
    _settle_memory()
    capture.install()
    with signals.heard() as noted:
        server = _fork_server(options)
        try:
            return _run(options, server, noted)
        finally:
            if server is not None:
                server.close()


def _fork_server(options: Options) -> ForkServer | None:
    """Where executors come from. A thread of somebody else's process, a test's say, must not fork it."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return ForkServer(main) if options.processes else None


def _run(options: Options, server: ForkServer | None, noted: list[int]) -> ExitCode:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            return runner.run(_work(options, server, noted))
        except psycopg.errors.UndefinedTable:
            raise Refusal("The database has no tables yet: run manage.py migrate.") from None


def _settle_memory() -> None:
    """What was imported stays: keep the collector from walking it, and from running for every few jobs."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


async def _work(options: Options, server: ForkServer | None, noted: list[int]) -> ExitCode:
    supervisor = Supervisor(options, server)
    signals.obey(noted, supervisor.state.stop)
    scheduler = None
    if options.scheduler:
        scheduler = asyncio.create_task(_schedule(supervisor))
    try:
        async with supervisor.probes:
            code = await supervisor.run()
    finally:
        if scheduler is not None:
            scheduler.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await scheduler
    _leave_stuck_threads(supervisor, code)
    return code


async def _schedule(supervisor: Supervisor) -> None:
    """Run the loops once the worker has found its database in order."""
    await supervisor.state.registered.wait()
    await Runner(discover.loops()).run()


def _leave_stuck_threads(supervisor: Supervisor, code: ExitCode) -> None:
    """A thread whose handler does not stop must not keep the process: its job was handed back."""
    executor = supervisor.state.executor
    if executor is not None and executor.stuck and threading.current_thread() is threading.main_thread():
        logging.shutdown()
        os._exit(code)
