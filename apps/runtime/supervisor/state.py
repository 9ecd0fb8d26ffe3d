"""What the parts of one supervisor share: its session, what it holds, and the events that wake them."""

import asyncio
import time
from uuid import UUID

from apps.jobs.engine.report import Ended
from apps.runtime.executor import Executor, Run
from apps.runtime.supervisor.options import Options


class State:
    """Written only in the supervisor's event loop."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.session_id: UUID | None = None
        self.executor: Executor | None = None
        self.queues: dict[UUID, str] = {}  # id → org/project/queue
        self.held: dict[UUID, Run] = {}  # claimed and not yet reported
        self.ended: list[tuple[Run, Ended | None]] = []  # waiting to be reported
        self.orphans: list[Ended] = []  # to be released: claimed, but the reply was lost
        self.drained = False  # an operator's wish: claims no more until it is taken back
        self.beat_at = time.monotonic()  # when the lease was last known to hold
        self.has_work = asyncio.Event()  # something may be claimable
        self.has_ended = asyncio.Event()  # something is to be reported
        self.has_room = asyncio.Event()  # a slot became free
        self.registered = asyncio.Event()  # has had a session
        self.stopped = asyncio.Event()  # claims no more
        self.hurried = asyncio.Event()  # hands back what runs
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

    @property
    def room(self) -> int:
        stuck = self.executor.stuck if self.executor else 0
        return self.options.concurrency - len(self.held) - stuck

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

    def hold(self, run: Run) -> None:
        self.held[run.claim.job_id] = run

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
        self.has_room.set()
        self.moved.set()

    def forget(self) -> None:
        """A new session begins with empty hands."""
        self.session_id = None
        self.held.clear()
        self.ended.clear()
        self.orphans.clear()
