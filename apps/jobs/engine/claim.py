"""Hand queued jobs to a session, each under a new fence."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from apps.sql import KEPT_PLANS, Statement, in_one_go

SPARE = 10  # candidates beyond the limit: rows that other claimers lock are skipped
LOWEST = -(2**63)  # no rank is lower
SLOW = 0.01  # seconds of walking from which on claims start where the last one ended
WALK_EVERY = 0.8  # … but for one that walks everything so often
COUNT_EVERY = 10.0  # … and the database counts what a session runs only so often


class Claim(NamedTuple):
    """One attempt to run, held by the session that claimed it. `payload` is the JSON text."""

    job_id: UUID
    queue_id: UUID
    type: str
    payload: str
    attempt: int
    max_attempts: int
    fence: int
    generation: int
    deadline_at: datetime
    limit_seconds: float  # until the deadline, by the database's clock
    workflow_id: UUID | None
    request_id: str | None
    losses: int = 0  # attempts that ended with their process or their worker
    releases: int = 0  # … and those that were handed back because a neighbour had to be killed
    concurrency_key: str | None = None
    approved: str | None = None  # JSON text: the approver's note, and the result its handler had asked with


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim got. Nothing out of `candidates` > 0 means contended, not empty: claim again at once."""

    jobs: list[Claim]
    candidates: int
    walked: float = field(
        default=0.0, compare=False
    )  # seconds until the first job was found, or until it was known that there is none
    ends: Mapping[UUID, int] = field(default_factory=dict, compare=False)  # the rank at which it stopped in each queue
    gated: bool = field(default=False, compare=False)  # some of these queues have limits: see claim_gated

    @property
    def contended(self) -> bool:
        return not self.jobs and self.candidates > 0


@dataclass(frozen=True, slots=True)
class Hint:
    """Where the lines of queues begin, and how many jobs the session holds (None: the database counts).

    `ahead`: how many jobs, by its weight, a queue has had more than the others; it comes later by so many.
    """

    floors: Mapping[UUID, int] = field(default_factory=dict)
    held: int | None = None
    ahead: Mapping[UUID, float] = field(default_factory=dict)


class Walk:
    """What one claimer knows from its last claims: a hint for the next one, given only while it pays.

    As long as somebody holds an old snapshot, rows that have ended stay in the indexes, and a claim
    walks over all of them to reach the first that waits. Once that takes long, a claim starts where
    the last one ended; now and then it walks everything all the same: for what committed late, what
    is more urgent and what another claimer let go. A claimer that offers other types has its own.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.slow = False
        self.rest = 0.0  # seconds for which the claimer does well to leave the database alone
        self.floors: dict[UUID, int] = {}
        self.walked_at = self.counted_at = -math.inf

    def hint(self, held: int) -> Hint:
        """For the next claim of a session that holds so many jobs."""
        if not self.slow:
            return NO_HINT
        count = self.now() - self.counted_at >= COUNT_EVERY
        return Hint({} if self.due_in <= 0 else self.floors, None if count else held)

    @property
    def due_in(self) -> float:
        """Seconds until everything is to be walked again."""
        return self.walked_at + WALK_EVERY - self.now() if self.slow else math.inf

    def see(self, hint: Hint, got: Claimed) -> None:
        """Learn from a claim that was given this hint."""
        if not hint.floors:
            self.walked_at = self.now()
            self.slow = got.walked > SLOW
        if hint.held is None:
            self.counted_at = self.now()
        # What others have ended since lies behind our floors: who walks that in vain must not do so all the time.
        far = bool(hint.floors) and not got.jobs and got.walked > SLOW
        self.rest = min(4 * got.walked, WALK_EVERY / 2) if far else 0.0
        self.floors.update(got.ends)


NO_HINT = Hint()
_claim = Statement.beside(__file__, lambda *values: values)
# For the transaction that it begins: the plans of claims depend on no value, nor on how much waits.
one_plan = Statement(
    f"{KEPT_PLANS.format(local='TRUE')}, set_config('plan_cache_mode', 'force_generic_plan', TRUE)",
    lambda *settings: None,
)


def params(
    session_id: UUID, queues: Sequence[UUID], offers: Mapping[str, int | None], limit: int, hint: Hint
) -> dict[str, Any]:
    """What a claim is sent with."""
    return {
        "session_id": session_id,
        "queues": list(queues),
        "floors": [hint.floors.get(queue_id, LOWEST) for queue_id in queues],
        "ahead": [hint.ahead.get(queue_id, 0.0) for queue_id in queues],
        "held": hint.held,
        "types": list(offers),
        "timeouts_ms": list(offers.values()),
        "limit": limit,
        "reach": limit + SPARE,
    }


def answer(rows: list[tuple[Any, ...]]) -> Claimed:
    """What the rows of a claim say."""
    jobs: list[Claim] = []
    ends: dict[UUID, int] = {}
    for _, _, _, rank, *values in rows:
        if rank is not None:
            jobs.append(job := Claim._make(values))
            ends[job.queue_id] = max(rank, ends.get(job.queue_id, rank))
    return Claimed(jobs=jobs, candidates=rows[0][0], walked=rows[0][1], ends=ends, gated=rows[0][2])


def claim(
    *, session_id: UUID, queues: Sequence[UUID], offers: Mapping[str, int | None], limit: int, hint: Hint = NO_HINT
) -> Claimed:
    """Claim up to `limit` jobs of these queues (each named once) and types for a live session.

    `offers` maps each job type the session has a handler for to that handler's own time limit in
    milliseconds (None: the queue's). The database grants no more than the session's concurrency
    leaves room for, and nothing to a session that is draining, fenced, ended or lapsed. It counts what
    it sees: of a session that claims twice at once, each may be given all the room (see claim_in_turn).
    """
    return answer(_claim(**params(session_id, queues, offers, limit, hint)))


async def claim_on(
    connection: psycopg.AsyncConnection[Any],
    *,
    session_id: UUID,
    queues: Sequence[UUID],
    offers: Mapping[str, int | None],
    limit: int,
    hint: Hint = NO_HINT,
) -> Claimed:
    """The same from a worker, in one round trip; its plan is made once, which else takes longer than the claim."""
    _, rows = await in_one_go(connection, (one_plan, {}), (_claim, params(session_id, queues, offers, limit, hint)))
    return answer(rows)
