"""What the parts of one supervisor share: its session, what it holds, and the events that wake them."""

import asyncio
import time
from uuid import UUID

from apps.jobs.engine.report import Ended
from apps.runtime.executor import Executor, Run
from apps.runtime.supervisor.options import Options
from apps.runtime.supervisor.pool import DEFAULT, Bells, Pool


class State:
    """Written only in the supervisor's event loop."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.session_id: UUID | None = None
        self.executor: Executor | None = None
        self.queues: dict[UUID, str] = {}  # id → org/project/queue
        self.weights: dict[UUID, int] = {}  # of those queues
        self.held: dict[UUID, Run] = {}  # claimed and not yet reported
        self.ended: list[tuple[Run, Ended | None]] = []  # waiting to be reported
        self.orphans: list[Ended] = []  # to be released: claimed, but the reply was lost
        self.drained = False  # an operator's wish: claims no more until it is taken back
        self.beat_at = time.monotonic()  # when the lease was last known to hold
        self.pools = [Pool(DEFAULT, options.concurrency), *(Pool(spec.name, spec.slots) for spec in options.pools)]
        self.has_work = Bells([pool.has_work for pool in self.pools])
        self.has_strangers = asyncio.Event()  # a queue has work that we do not know: it may be new
        self.has_room = Bells([pool.has_room for pool in self.pools])
        self.has_ended = asyncio.Event()  # something is to be reported
        self.registered = asyncio.Event()  # has had a session
        self.stopped = asyncio.Event()  # claims no more
        self.hurried = asyncio.Event()  # hands back what runs
        self.broken = False  # its executors cannot be replaced: it ends as failed
        self.moved = asyncio.Event()  # for whoever waits for the worker to be empty
        self.claimed_at = time.monotonic()  # the last turn of the claim loop that went well, for liveness
        self.claims_begun = 0  # claim calls that were sent
        self.claims_done = 0  # of those, answered or failed

    @property
    def claiming(self) -> bool:
        """Is a claim on its way? It may come back with jobs."""
        return self.claims_begun > self.claims_done

    @property
    def stopping(self) -> bool:
        return self.stopped.is_set()

    def room(self, pool: Pool) -> int:
        """Free slots. A handler's thread that was given up on still has one, of the default pool."""
        stuck = self.executor.stuck if self.executor and pool is self.pools[0] else 0
        return pool.slots - pool.held - stuck

    @property
    def lease_holds(self) -> bool:
        """By this process's own clock: after a lease without an answered heartbeat it must not claim."""
        return time.monotonic() - self.beat_at < self.options.lease

    def stop(self) -> None:
        """First call: claim no more and finish what runs. Second call: hand back what runs at once."""
        if self.stopping:
            self.hurried.set()
        self.stopped.set()
        self.has_work.set()
        self.has_room.set()

    def break_off(self) -> None:
        """End as failed: there is nothing left to run handlers in."""
        self.broken = True
        self.stop()

    def hold(self, run: Run, pool: Pool) -> None:
        self.held[run.claim.job_id] = run
        run.pool = pool
        pool.held += 1

    def end(self, run: Run, ended: Ended | None) -> None:
        """A handler is done: the executor calls this, once for each run."""
        run.took = time.monotonic() - run.began
        run.done = True
        if run.timer is not None:
            run.timer.cancel()
        self.ended.append((run, ended))
        self.has_ended.set()

    def let_go(self, run: Run) -> None:
        if self.held.get(run.claim.job_id) is run:
            del self.held[run.claim.job_id]
            self._free(run)
        self.moved.set()

    def forget(self) -> None:
        """A new session begins with empty hands."""
        self.session_id = None
        for run in self.held.values():
            self._free(run)
        self.held.clear()
        self.ended.clear()
        self.orphans.clear()

    @staticmethod
    def _free(run: Run) -> None:
        if isinstance(run.pool, Pool):
            run.pool.held -= 1
            run.pool.has_room.set()
            if run.pool.gated:
                run.pool.has_work.set()  # a place of a limit is free
