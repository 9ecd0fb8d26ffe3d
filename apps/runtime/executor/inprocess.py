"""Handlers where they are called: coroutines as tasks of the event loop, functions in threads."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from django.db import close_old_connections

from apps.handlers import current
from apps.jobs.engine.report import Ended
from apps.runtime.executor.context import RunContext
from apps.runtime.executor.outcome import judge, stopped, undecodable, unstarted
from apps.runtime.executor.run import OnEnd, Run, Stop


class InProcess:
    """See Executor. One thread per slot at most, made when first needed.

    A thread cannot be stopped from outside: a function that ignores `ctx.cancelled` past its time
    limit is reported timed out and its thread counts as stuck until it ends by itself.
    `from_threads`: `on_end` may be called from the handler's thread, so that a coroutine which blocks
    the event loop does not hold up the ends of functions.
    """

    ready = True

    def __init__(self, *, slots: int, session_id: UUID, on_end: OnEnd, from_threads: bool = False) -> None:
        self.loop = asyncio.get_running_loop()
        self.threads = ThreadPoolExecutor(max_workers=slots, thread_name_prefix="handler")
        self.session_id = session_id
        self.on_end = on_end
        self.from_threads = from_threads
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
        try:
            self._begin(run, context)
        except Exception as error:  # noqa: BLE001 — no thread to be had, say; the job is not at fault
            self._end(run, unstarted(run, self.session_id, error))

    def _begin(self, run: Run, context: RunContext) -> None:
        if run.handler.is_async:
            # eager: a handler that never waits is done when this line is
            run.task = asyncio.Task(self._as_task(run, context), loop=self.loop, eager_start=True)
        else:
            self.threads.submit(self._in_thread, run, context)

    async def _as_task(self, run: Run, context: RunContext) -> None:
        current.set(context)  # the task has a context of its own
        fine, answer = True, None
        try:
            answer = await run.handler.call(context, context.payload)
        except BaseException as error:  # noqa: BLE001 — even SystemExit ends an attempt, not the worker
            fine, answer = False, error
        if fine or run.stop is not None:
            self._end(run, judge(run, self.session_id, answer, fine=fine))
        else:
            # What an exception says of itself is code of the handler's: it may take its time, elsewhere.
            self.threads.submit(self._judge, run, answer)
        answer = None  # an exception holds this frame, and with it whatever the handler held: not in a circle

    def _in_thread(self, run: Run, context: RunContext) -> None:
        token = current.set(context)
        close_old_connections()
        fine, answer = True, None
        try:
            answer = run.handler.call(context, context.payload)
        except BaseException as error:  # noqa: BLE001 — even SystemExit ends an attempt, not the worker
            fine, answer = False, error
        finally:
            close_old_connections()
            current.reset(token)
        self._judge(run, answer, fine=fine)
        answer = None  # as above

    def _judge(self, run: Run, answer: Any, *, fine: bool = False) -> None:
        """In a thread."""
        ended = judge(run, self.session_id, answer, fine=fine)
        if self.from_threads:
            self._end(run, ended)
        else:
            self.loop.call_soon_threadsafe(self._end, run, ended)

    def _end(self, run: Run, ended: Ended | None) -> None:
        """Say the outcome once; an abandoned run has had its own."""
        if run in self.running:
            self.running.discard(run)
            if run.unsaid:
                run.hush()
            self.on_end(run, ended)
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
