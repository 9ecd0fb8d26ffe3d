"""Find the queues that have work, for a worker that serves many."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement

PROBED = 64  # queues that are looked at one by one; of more, those with work are walked over
STEPS = 256  # queues with work that one walk passes
NOWHERE = UUID(int=0)  # where a walk along ids begins

type Send = Callable[[Callable[..., Awaitable[list[UUID]]]], Awaitable[list[UUID]]]


@dataclass(frozen=True, slots=True)
class Aimed:
    """A queue with something for one session, or, without one, for whichever takes it first."""

    queue_id: UUID
    session_id: UUID | None


ready = Statement.beside(__file__, lambda queue_id: queue_id)
ready_among = Statement.beside(__file__, lambda queue_id: queue_id, "ready_among")
ready_aimed = Statement.beside(__file__, lambda queue_id: queue_id, "ready_aimed")
ready_sessions = Statement.beside(__file__, Aimed, "ready_sessions")


async def ready_after(send: Send, *, after: UUID, queues: Collection[UUID], limit: int) -> list[UUID]:
    """The next of these queues that have something queued, in the order of their ids. `send` sends a statement.

    Many ids are not sent along at each call, which would take longer than the claim itself: what has work is
    asked for and compared here, so `queues` is a set where there are many.
    """
    if len(queues) <= PROBED:
        return await send(lambda connection: ready_among.on(connection, after=after, queues=list(queues), limit=limit))
    found: list[UUID] = []
    steps = limit  # most that have work are ours, as a rule
    while len(found) < limit:
        passed = await send(lambda connection, a=after, s=steps: ready.on(connection, after=a, limit=s))
        found += [queue_id for queue_id in passed if queue_id in queues]
        if len(passed) < steps:
            break
        after, steps = passed[-1], STEPS
    return found[:limit]
