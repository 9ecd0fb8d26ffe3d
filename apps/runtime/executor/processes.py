"""Handlers in executors: processes of their own, so that none can hold up a heartbeat or take the worker along."""

import asyncio
import itertools
import random
from collections.abc import Callable
from uuid import UUID

import psutil
import structlog

from apps.jobs.engine.report import Ended
from apps.runtime.executor.child import Child, how
from apps.runtime.executor.forkserver import Death, ForkServer
from apps.runtime.executor.frames import Done
from apps.runtime.executor.outcome import collateral, crashed, stopped
from apps.runtime.executor.run import OnEnd, Run, Stop

ALONE_MAX = 16  # processes for one job each; more suspects at once share the others
RELEASES_MAX = 3  # collateral releases after which a job runs alone
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds before an executor that died without work is replaced
WEIGH_EVERY = 1.0  # seconds between two looks at their memory

log = structlog.get_logger("fencepost.worker")
_numbers = itertools.count(1)


class Processes:
    """See Executor. `count` executors share the runs; one that dies or has served its time is replaced.

    A job that was running when its process died, or was released three times because a neighbour had to be killed,
    runs alone in a process of its own: if it is to blame, nobody else pays.
    """

    stuck = 0

    def __init__(
        self,
        *,
        server: ForkServer,
        count: int,
        slots: int,
        session_id: UUID,
        on_end: OnEnd,
        on_broken: Callable[[], None],
        jobs_max: int = 0,
        memory_max: int = 0,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.server, self.count, self.slots, self.session_id = server, count, slots, session_id
        self.on_end, self.on_broken = on_end, on_broken
        self.jobs_max, self.memory_max = jobs_max, memory_max
        self.children: dict[int, Child] = {}
        self.pause = FIRST_PAUSE
        self.closed = False
        self.loop.add_reader(server.control, self._hear)
        self._replenish()
        self.weighing = self.loop.call_later(WEIGH_EVERY, self._weigh)

    @property
    def ready(self) -> bool:
        """Some executor takes work: one that is blocked by a handler is sent nothing more."""
        return any(self._takes(child) for child in self.children.values())

    @staticmethod
    def _takes(child: Child) -> bool:
        return not (child.retiring or child.alone or child.deaf)

    # --- Executor ---

    def start(self, run: Run) -> None:
        child = self._choose(run)
        if child is None:
            self.on_end(run, collateral(run, self.session_id, "There was no process to run it in."))
        else:
            child.start(run)

    def stop(self, run: Run, why: Stop) -> None:
        run.stop = run.stop or why
        child = run.child
        if isinstance(child, Child) and run.serial in child.runs:
            child.halt(run, why)

    def abandon(self, run: Run) -> None:
        child = run.child
        if isinstance(child, Child) and run.serial in child.runs:
            log.warning("executor killed: a handler does not stop", pid=child.pid, job_id=str(run.claim.job_id))
            child.kill(guilty=run)

    def close(self) -> None:
        """End every executor; nothing more is said of what ran there."""
        self.closed = True
        self.weighing.cancel()
        self.loop.remove_reader(self.server.control)
        for child in self.children.values():
            child.runs.clear()
            self.server.kill(child.number)
            child.bury()
        self.children.clear()

    # --- which one ---

    def _choose(self, run: Run) -> Child | None:
        if (
            _suspect(run)
            and sum(child.alone for child in self.children.values()) < ALONE_MAX
            and (child := self._spawn()) is not None
        ):
            child.alone = True
            return child
        able = [child for child in self.children.values() if self._takes(child)]
        if not able:
            able = [child for child in self.children.values() if not (child.retiring or child.alone)]
        return min(able, key=lambda child: len(child.runs)) if able else self._spawn()

    def _spawn(self) -> Child | None:
        number = next(_numbers)
        try:
            child = Child(
                number=number, server=self.server, session_id=self.session_id, slots=self.slots, on_done=self._done
            )
        except OSError as error:  # no descriptors left, say
            log.error("no executor", error=str(error))
            return None
        self.children[number] = child
        return child

    def _replenish(self) -> None:
        if self.closed or self.server.gone:
            return
        lasting = sum(not (child.retiring or child.alone) for child in self.children.values())
        for _ in range(self.count - lasting):
            if self._spawn() is None:
                self._replenish_later()
                return

    def _replenish_later(self) -> None:
        self.loop.call_later(self.pause, self._replenish)
        self.pause = min(self.pause * 2, LONGEST_PAUSE)

    # --- what they do ---

    def _done(self, run: Run, done: Done) -> None:
        self.pause = FIRST_PAUSE
        child = run.child
        if isinstance(child, Child):
            if child.alone:
                child.retiring = True
            elif self.jobs_max and not child.retiring and child.serials >= self.jobs_max and not child.guilty:
                self._recycle(child, "jobs", child.serials)
        if done.outcome is None or run.stop is Stop.LOST:
            self.on_end(run, None)
            return
        self.on_end(
            run,
            Ended(
                run.claim.job_id,
                run.claim.fence,
                self.session_id,
                done.outcome,
                done.result,
                done.delay_ms,
                done.error_class,
                done.error_message,
                done.traceback,
                follow=tuple(done.follow or ()),
                request_id=run.claim.request_id,
                workflow_id=run.claim.workflow_id,
            ),
        )

    def _recycle(self, child: Child, why: str, amount: int) -> None:
        log.info("executor recycled", pid=child.pid, why=why, amount=amount)
        child.retire()
        self._replenish()

    def _relieve(self) -> None:
        """Give what waits for a blocked executor to one that is not."""
        for child in list(self.children.values()):
            if child.deaf and not child.retiring and self.ready:
                for run in child.take_back():
                    if run.stop is None:
                        self.start(run)
                    else:
                        self.on_end(run, self._not_begun(run, "Its process was blocked before it had begun."))

    def _weigh(self) -> None:
        self.weighing = self.loop.call_later(WEIGH_EVERY * random.uniform(0.9, 1.1), self._weigh)  # noqa: S311
        self._relieve()
        if not self.memory_max:
            return
        for child in [one for one in self.children.values() if one.pid and not one.retiring]:
            try:
                used = psutil.Process(child.pid).memory_info().rss
            except psutil.Error:
                continue
            if used > self.memory_max:
                self._recycle(child, "memory", used)

    def _hear(self) -> None:
        for number, pid, death in self.server.read():
            child = self.children.get(number)
            if child is None:
                continue
            if death is None:
                child.pid = pid
            else:
                self._died(child, death)
        if self.server.gone:
            self._broken()

    def _broken(self) -> None:
        """The fork server was killed, and every executor with it: this worker can only end."""
        log.error("the fork server died")
        self.loop.remove_reader(self.server.control)
        for child in list(self.children.values()):
            self._died(child, Death(None, 9, 0, 0.0))
        self.on_broken()

    # --- when one dies ---

    def _died(self, child: Child, death: Death) -> None:
        del self.children[child.number]
        last, written = child.bury()
        left, expected = list(child.runs.values()), child.retiring and not child.runs
        if not expected:
            log.warning("executor ended", pid=child.pid, running=len(left), **how(death))
        begun = [run for run in left if run.serial <= last]
        for run in left:
            self.on_end(run, self._verdict(child, run, begun, death, written))
        child.runs.clear()
        if left or expected or child.serials:
            self._replenish()
        else:
            self._replenish_later()

    def _verdict(self, child: Child, run: Run, begun: list[Run], death: Death, written: str) -> Ended | None:
        if run not in begun:
            return self._not_begun(run, "Its process ended before it had begun.")
        if run.stop is Stop.LOST:
            return None
        if run.stop is not None:
            ended = stopped(run, self.session_id)
            return ended._replace(traceback=written or None) if ended and run.stop is Stop.TIMEOUT else ended
        if child.guilty is not None:
            return collateral(run, self.session_id, "A job beside it had to be stopped by ending their process.")
        company = len(begun) - 1
        if company and run.claim.attempt >= run.claim.max_attempts and not run.claim.releases:
            # Its last attempt, and more likely than not the fault of another: once, it runs again, alone.
            return collateral(run, self.session_id, "Its process died while other jobs ran in it.")
        return crashed(run, self.session_id, death, company, written)

    def _not_begun(self, run: Run, why: str) -> Ended | None:
        return None if run.stop is Stop.LOST else collateral(run, self.session_id, why)


def _suspect(run: Run) -> bool:
    claim = run.claim
    return (
        claim.losses > 0
        or claim.releases >= RELEASES_MAX
        or (claim.releases > 0 and claim.attempt >= claim.max_attempts)
    )
