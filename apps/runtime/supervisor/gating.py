"""Claims from queues with limits: one transaction each, in turn, and only where a gate admits something."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from apps.jobs.engine.claim import Claim
from apps.jobs.engine.claim_gated import claim_gated_on
from apps.jobs.engine.claim_roomy import claim_roomy_on
from apps.jobs.engine.gates import Admitting, gates
from apps.runtime.supervisor.turns import Turns
from apps.runtime.supervisor.wire import Call, Wire

type Send = Callable[[Call[Any]], Awaitable[Any]]


class Gating:
    def __init__(self, wire: Wire, send: Send, offers: Mapping[str, int | None], turns: Turns) -> None:
        self.wire = wire
        self.send = send  # a claim, and counted as one
        self.offers = offers
        self.known = False  # some of the queues have limits
        self.waits = math.inf  # seconds until the next token of one that has work
        self.turns = turns
        self.again = False  # to be asked again at once: a shard was held by others, or limits are news

    def hear(self, *, known: bool) -> None:
        """Whether the claim from queues without limits came across some that have them."""
        self.again = self.again or (known and not self.known)
        self.known = known

    @property
    def left(self) -> bool:
        """Something waits for a token."""
        return self.waits < math.inf

    async def claim(
        self,
        session_id: UUID,
        queues: Sequence[UUID],
        limit: int,
        weights: Mapping[UUID, int],
        *,
        aimed: bool = False,
    ) -> list[Claim]:
        """Up to `limit` jobs (`aimed`: those too that wait for this worker), shared out by weight.

        Among the queues that admit any, those come first that have had least.
        """
        self.waits, self.again = math.inf, False
        if not self.known or not queues:
            return []
        open_now = await self._open(queues, session_id if aimed else None)
        weight = sum(weights.get(one.queue_id, 1) for one in open_now)
        jobs: list[Claim] = []
        for one in open_now:
            own = weights.get(one.queue_id, 1)
            share = math.ceil((limit - len(jobs)) * own / weight)
            weight -= own
            if share > 0:
                jobs += await self._claim(session_id, one, share, aimed=aimed)
        self.turns.see([job.queue_id for job in jobs], weights)
        return jobs

    async def _open(self, queues: Sequence[UUID], session_id: UUID | None) -> list[Admitting]:
        """Those of the queues that admit something of what waits, or of what waits for a session's worker."""
        found = await self.wire.send(
            lambda connection: gates.on(connection, queues=list(queues), types=list(self.offers), session_id=session_id)
        )
        self.waits = min((one.wait_seconds for one in found if one.wait_seconds > 0), default=math.inf)
        ahead = self.turns.ahead()
        return sorted((one for one in found if one.wait_seconds <= 0), key=lambda one: ahead.get(one.queue_id, 0.0))

    async def _claim(self, session_id: UUID, gate: Admitting, limit: int, *, aimed: bool) -> list[Claim]:
        asked: dict[str, Any] = {"session_id": session_id, "queue_id": gate.queue_id, "limit": limit}
        if gate.roomy and not aimed:
            waiting = {name: self.offers[name] for name in gate.types}
            got = await self.send(lambda connection: claim_roomy_on(connection, **asked, offers=waiting))
        else:
            got = await self.send(
                lambda connection: claim_gated_on(connection, **asked, offers=self.offers, aimed=aimed)
            )
        self.again = self.again or got.contended
        return list(got.jobs)
