"""Replay all dead letters of a queue, on someone's behalf, as far as one request can."""

import time
from typing import Any

from apps.audit.record import Actor
from apps.jobs.services.replay_many import ReplayedQueue, replay_queue, room_of
from apps.queues.models import Queue

CALL = 500  # replayed in one transaction
SECONDS = 5.0  # after which no other is begun: somebody waits for the answer


def replay_all(*, queue: Queue, actor: Actor, limit: int | None = None, **how: Any) -> ReplayedQueue:
    """Replay dead letters, or up to `limit` of them, in one transaction after the other, until none is left or time is up.

    Each is looked at once: what fails again meanwhile is not taken again, nor what something stands in the way of. Where
    `more` is True another call goes on with `after` and `due`; what was replayed before anything failed stays so.
    """
    until = time.monotonic() + SECONDS
    room = room_of(queue)  # once: the depth is measured too seldom to see what the last call added
    most = min(one for one in (limit, room, float("inf")) if one is not None)
    done = ReplayedQueue(upto=how.pop("after", None), due=how.pop("due", None))
    while True:
        some = int(min(CALL, most - done.replayed))
        _add(done, replay_queue(queue=queue, actor=actor, limit=some, after=done.upto, due=done.due, **how))
        if not done.more or done.full or done.replayed >= most or time.monotonic() >= until:
            break
    done.full = done.full or (done.more and done.replayed == room)
    return done


def _add(done: ReplayedQueue, one: ReplayedQueue) -> None:
    done.replayed += one.replayed
    done.skipped += one.skipped
    done.full, done.more, done.upto, done.due = one.full, one.more, one.upto, one.due
