"""Whose turn it is among the queues of a pool: each by its weight, and none waits for longer than a round."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from apps.jobs.engine.ready import NOWHERE, Send, ready_after, ready_aimed

AT_ONCE = 16  # queues one claim looks at; a worker that serves more asks first which have work


class Clocks:
    """What each queue has had of a pool, so that all get their share.

    Every queue has a clock, which goes on by 1/weight with each job that is taken from it; whose clock shows least is
    next. One that had nothing to offer for a while starts from the clock of the job that was taken last, so that it
    is next, and not for as long as it was away. (Start-time fair queuing, Goyal, Vin and Cheng 1996.)
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.clocks: dict[UUID, float] = {}

    def ahead(self) -> Mapping[UUID, float]:
        """How far the clocks of queues are ahead of the others'."""
        return {queue_id: clock - self.now for queue_id, clock in self.clocks.items()}

    def see(self, taken: Iterable[UUID], weights: Mapping[UUID, int]) -> None:
        """Learn which queue each job of a claim came from."""
        last = self.now
        for queue_id, jobs in Counter(taken).items():
            stride = 1 / weights.get(queue_id, 1)
            clock = max(self.clocks.get(queue_id, 0.0), self.now) + jobs * stride
            self.clocks[queue_id] = clock
            last = max(last, clock - stride)
        if last > self.now:
            self.now = last
            self.clocks = {queue_id: clock for queue_id, clock in self.clocks.items() if clock > last}


class Turns(Clocks):
    """Where a pool is in its round over the queues, besides what each of them has had."""

    def __init__(self, send: Send) -> None:
        super().__init__()
        self.send = send
        self.queues: Sequence[UUID] = []
        self.known: Collection[UUID] = ()
        self.cursor = self.aimed_cursor = NOWHERE
        self.more = False  # the round goes on: there may be others that have work

    def serve(self, queues: Sequence[UUID]) -> None:
        """From now on these."""
        self.queues, self.known = queues, frozenset(queues)

    @property
    def rotates(self) -> bool:
        return len(self.queues) > AT_ONCE

    async def next(self, limit: int, *, aimed_at: UUID | None = None) -> Sequence[UUID]:
        """The queues to claim so many jobs from: all, or the next few that have work when there are many.

        `aimed_at` is a session for whose worker there may be jobs in queues that have none for others.
        """
        if not self.rotates:
            self.more = False
            return self.queues
        few = max(1, min(AT_ONCE, limit))
        found = await self._after(self.cursor, few)
        self.more = len(found) == few
        if not self.more and self.cursor != NOWHERE:
            found += [one for one in await self._after(NOWHERE, few - len(found)) if one <= self.cursor]
        self.cursor = found[-1] if found else NOWHERE
        if aimed_at is not None:
            found += [one for one in await self.aimed(aimed_at) if one not in found]
        return found

    async def _after(self, cursor: UUID, limit: int) -> list[UUID]:
        return await ready_after(self.send, after=cursor, queues=self.known, limit=limit)

    async def aimed(self, session_id: UUID, limit: int = AT_ONCE) -> list[UUID]:
        """Queues of ours with jobs for the worker of a session; from the start again where that was the end."""
        found = await self.send(
            lambda connection: ready_aimed.on(connection, session_id=session_id, after=self.aimed_cursor, limit=limit)
        )
        self.aimed_cursor = found[-1] if len(found) == limit else NOWHERE
        return [one for one in found if one in self.known]
