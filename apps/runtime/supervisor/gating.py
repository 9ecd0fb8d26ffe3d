"""Claims from queues with limits: one transaction each, in turn, and only where a gate admits something."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import psycopg

from apps.jobs.engine.claim import Claim
from apps.jobs.engine.claim_gated import claim_gated_on
from apps.jobs.engine.gates import gates
from apps.runtime.supervisor.wire import Wire

type Send = Callable[[Callable[[psycopg.AsyncConnection[Any]], Awaitable[Any]]], Awaitable[Any]]


class Gating:
    def __init__(self, wire: Wire, send: Send, offers: Mapping[str, int | None]) -> None:
        self.wire = wire
        self.send = send  # a claim, and counted as one
        self.offers = offers
        self.known = False  # some of the queues have limits
        self.waits = math.inf  # seconds until the next token of one that has work
        self.turn = 0

    @property
    def left(self) -> bool:
        """Something waits for a token."""
        return self.waits < math.inf

    async def claim(self, session_id: UUID, queues: Sequence[UUID], limit: int) -> list[Claim]:
        """Up to `limit` jobs, shared out among the queues that admit any."""
        self.waits = math.inf
        if not self.known or not queues:
            return []
        ahead = await self.wire.send(
            lambda connection: gates.on(connection, queues=list(queues), types=list(self.offers))
        )
        open_now = [one.queue_id for one in ahead if one.wait_seconds <= 0]
        self.waits = min((one.wait_seconds for one in ahead if one.wait_seconds > 0), default=math.inf)
        self.turn += 1
        start = self.turn % len(open_now) if open_now else 0
        jobs: list[Claim] = []
        for asked, queue_id in enumerate(open_now[start:] + open_now[:start]):
            share = math.ceil((limit - len(jobs)) / (len(open_now) - asked))
            if share > 0:
                jobs += await self._claim(session_id, queue_id, share)
        return jobs

    async def _claim(self, session_id: UUID, queue_id: UUID, limit: int) -> list[Claim]:
        got = await self.send(
            lambda connection: claim_gated_on(
                connection, session_id=session_id, queue_id=queue_id, offers=self.offers, limit=limit
            )
        )
        return list(got.jobs)
