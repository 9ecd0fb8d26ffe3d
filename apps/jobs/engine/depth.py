"""Measure how deep queues are, for whoever asks too often to count."""

from uuid import UUID

from apps.sql import Statement, Steps, Verb

EVERY_MS = 1500  # between two turns, whichever scheduler takes them
CAP = 1_000_000  # jobs counted of a queue, and the deepest a queue may be capped at
REST_US = 5  # for which a queue is left alone, for each job that was counted: about twenty times as long as it took
LIMIT = 1000  # queues a turn
HEADS = 64  # types and priorities of a queue whose first jobs are looked at

_turn = Statement.beside(__file__, bool, "depth_turn")
_depth = Statement.beside(__file__, lambda queue_id: queue_id)


def depth_steps(*, every_ms: int = EVERY_MS, limit: int = LIMIT) -> Steps[list[UUID]]:
    """Measure what is due and answer which queues that were; nothing where somebody else has just done so.

    Two statements: the second sees what whoever had the turn before has written.
    """
    if not (yield from _turn.ask()):
        return []
    return (yield from _depth.ask(every_ms=every_ms, cap=CAP, rest_us=REST_US, limit=limit, heads=HEADS))


depth = Verb(depth_steps)
