"""The heartbeat loop, on a connection of its own: keep the lease, pass progress on, hear what is to stop."""

import asyncio
import time
from uuid import UUID

import psycopg
import structlog

from apps.jobs.engine.heartbeat import Beat, Told, heartbeat
from apps.jobs.engine.report import Ended
from apps.jobs.states import Outcome
from apps.runtime.executor import Run, Stop
from apps.runtime.supervisor.sampling import Sampling
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import LONGEST_PAUSE, Wire

PROGRESS_EVERY = 1.0  # seconds; progress that changed is not kept waiting for the next heartbeat

log = structlog.get_logger("fencepost.worker")


class Fenced(Exception):
    """This session is no longer the worker's: another boot took over, or it was silent for too long."""

    def __init__(self, *, lapsed: bool) -> None:
        super().__init__("lapsed" if lapsed else "superseded")
        self.lapsed = lapsed


class Beating:
    def __init__(self, state: State, wire: Wire) -> None:
        self.state = state
        self.wire = wire
        self.sampling = Sampling(every=state.options.heartbeat)
        self.suspects: dict[tuple[UUID, int], int] = {}  # held by the session, unknown here → claims begun

    async def run(self) -> None:
        """Beat until cancelled. Raises Fenced when the session is over."""
        while True:
            await self._pause()
            try:
                await self.beat(await self.sampling.take())
            except (psycopg.Error, OSError) as error:
                await self.wire.outage.pause(error, longest=min(self.state.options.heartbeat / 2, LONGEST_PAUSE))

    async def _pause(self) -> None:
        """Sleep until the next beat; sooner when a handler has said how far it is."""
        due = time.monotonic() + self.state.options.heartbeat
        while (left := due - time.monotonic()) > 0:
            await asyncio.sleep(min(left, PROGRESS_EVERY))
            if any(run.told for run in self.state.held.values()):
                return

    async def beat(self, sample: str | None = None) -> None:
        state = self.state
        asked_at = time.monotonic()
        begun = state.claims_begun
        runs = list(state.held.values())
        told = _collect(runs)
        try:
            answer = await self.wire.send(
                lambda connection: heartbeat.on(
                    connection,
                    session_id=_known(state.session_id),
                    held={run.claim.job_id: run.claim.fence for run in runs},
                    told=told,
                    draining=state.stopping,
                    sample=sample,
                )
            )
        except BaseException:
            self._keep(told)
            raise
        lapsed = asked_at - state.beat_at >= state.options.lease
        if not answer.alive:
            raise Fenced(lapsed=lapsed)
        state.beat_at = asked_at
        state.drained = answer.drain
        self._obey(answer, {(run.claim.job_id, run.claim.fence): run for run in runs})
        self._suspect(answer, begun)

    def _keep(self, told: list[Told]) -> None:
        """Progress that was not heard is told again, unless there is newer."""
        for one in told:
            run = self.state.held.get(one.job_id)
            if run is not None and run.told is None:
                run.told = one

    def _obey(self, answer: Beat, runs: dict[tuple[UUID, int], Run]) -> None:
        """Stop what was cancelled and what is no longer ours. What ended meanwhile is not held any more."""
        for pairs, why in ((answer.cancel, Stop.CANCELLED), (answer.lost, Stop.LOST)):
            for pair in pairs:
                run = runs.get(pair)
                if run is not None and self.state.held.get(pair[0]) is run and run.stop is None:
                    self._stop(run, why)

    def _stop(self, run: Run, why: Stop) -> None:
        executor = self.state.executor
        if executor is None or any(one is run for one, _ in self.state.ended):
            return
        log.info("job told to stop", job_id=str(run.claim.job_id), why=why.value, request_id=run.claim.request_id)
        executor.stop(run, why)
        asyncio.get_running_loop().call_later(self.state.options.cancel_grace, executor.abandon, run)

    def _suspect(self, answer: Beat, begun: int) -> None:
        """Release jobs the session holds and the worker does not know: the reply to their claim was lost.

        Only when two consecutive beats name them and every claim begun before the first has ended.
        """
        state = self.state
        unknown = {pair for pair in answer.unknown if pair[0] not in state.held}
        for pair in unknown & self.suspects.keys():
            if state.claims_done >= self.suspects[pair]:
                log.warning("claim with a lost reply is released", job_id=str(pair[0]))
                self._release(pair)
                unknown.discard(pair)
        self.suspects = {pair: self.suspects.get(pair, begun) for pair in unknown}

    def _release(self, pair: tuple[UUID, int]) -> None:
        job_id, fence = pair
        released = Ended(
            job_id=job_id, fence=fence, session_id=_known(self.state.session_id), outcome=Outcome.RELEASED.value
        )
        self.state.orphans.append(released)
        self.state.has_ended.set()


def _collect(runs: list[Run]) -> list[Told]:
    """Take what these runs have said of their progress."""
    told = []
    for run in runs:
        said, run.told = run.told, None  # a handler's thread may say more at any moment
        if said:
            told.append(said)
    return told


def _known(session_id: UUID | None) -> UUID:
    assert session_id is not None  # noqa: S101 — the supervisor registers before anything beats
    return session_id
