"""Handlers inside the worker itself: coroutines as tasks of its loop, functions in threads."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from django.db import close_old_connections

from apps.handlers import current
from apps.jobs.engine.report import Ended
from apps.runtime.executor.context import RunContext
from apps.runtime.executor.outcome import failed, stopped, succeeded, undecodable
from apps.runtime.executor.run import OnEnd, Run, Stop


class InProcess:
    """See Executor. One thread per slot at most, made when first needed.

    A thread cannot be stopped from outside: a function that ignores `ctx.cancelled` past its time
    limit is reported timed out and its thread counts as stuck until it ends by itself.
    """

    ready = True

    def __init__(self, *, slots: int, session_id: UUID, on_end: OnEnd) -> None:
        self.loop = asyncio.get_running_loop()
        self.threads = ThreadPoolExecutor(max_workers=slots, thread_name_prefix="handler")
        self.session_id = session_id
        self.on_end = on_end
        self.running: set[Run] = set()
        self._stuck = 0

    @property
    def stuck(self) -> int:
        return self._stuck

    def start(self, run: Run) -> None:
        try:
            context = RunContext(run, json.loads(run.claim.payload), self.session_id)
        except (ValueError, RecursionError) as error:
            self.on_end(run, undecodable(run, self.session_id, error))
            return
        self.running.add(run)
        if run.handler.is_async:
            # eager: a handler that never waits is done when this line is
            run.task = asyncio.Task(self._as_task(run, context), loop=self.loop, eager_start=True)
        else:
            future = self.loop.run_in_executor(self.threads, _in_thread, run, context)
            future.add_done_callback(lambda done: self._thread_ended(run, done))

    async def _as_task(self, run: Run, context: RunContext) -> None:
        current.set(context)  # the task has a context of its own
        try:
            answer = await run.handler.call(context, context.payload)
        except BaseException as error:  # noqa: BLE001 — even SystemExit ends an attempt, not the worker
            self._end(run, failed, error)
        else:
            self._end(run, succeeded, answer)

    def _thread_ended(self, run: Run, done: asyncio.Future[tuple[bool, Any]]) -> None:
        if done.cancelled():
            self._end(run, failed, asyncio.CancelledError())
            return
        fine, answer = done.result()
        if fine:
            self._end(run, succeeded, answer)
        else:
            self._end(run, failed, answer)

    def _end(self, run: Run, verdict: Callable[[Run, UUID, Any], Ended | None], value: Any) -> None:
        """Say the outcome once; an abandoned run has had its own."""
        if run in self.running:
            self.running.discard(run)
            if run.unsaid:
                run.hush()
            self.on_end(run, verdict(run, self.session_id, value))
        elif not run.handler.is_async:
            self._stuck -= 1

    def stop(self, run: Run, why: Stop) -> None:
        run.stop = run.stop or why
        if isinstance(run.task, asyncio.Task):
            run.task.cancel(why.value)

    def abandon(self, run: Run) -> None:
        if run not in self.running:
            return
        self.running.discard(run)
        if not run.handler.is_async:
            self._stuck += 1
        self.on_end(run, stopped(run, self.session_id))

    def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)


def _in_thread(run: Run, context: RunContext) -> tuple[bool, Any]:
    """Run a plain function; exceptions are answered, since not every one may cross a future."""
    token = current.set(context)
    close_old_connections()
    try:
        return True, run.handler.call(context, context.payload)
    except BaseException as error:  # noqa: BLE001 — even SystemExit ends an attempt, not the worker
        return False, error
    finally:
        close_old_connections()
        current.reset(token)
