"""Place a queued job by hand among its kind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.sql import Statement, Steps, Verb

TRIES = 5  # while others change the same job
PLACES = ("top", "up", "down", "bottom")


@dataclass(frozen=True, slots=True)
class Moved:
    """A job's place among its kind before and after, and how many rows that took."""

    before: int
    after: int
    rows: int


_move = Statement.beside(__file__, Moved)
turn = Statement.beside(__file__, lambda queue_id, _: queue_id, "move_turn")
lines = Statement.beside(__file__, lambda _: None, "move_lines")


def in_turn[T](job_id: UUID, ask: Callable[[UUID], Steps[T | None]]) -> Steps[T | None]:
    """Ask while nobody else places jobs of that line by hand; None if the job is not there or no longer may."""
    for _ in range(TRIES):
        lines: list[UUID] = yield from turn.ask(job_id=job_id)
        if not lines:
            return None
        if (done := (yield from ask(lines[0]))) is not None:
            return done
    return None


def move_steps(*, job_id: UUID, to: str) -> Steps[Moved | None]:
    """Move a queued job up, down, to the top or the bottom of those of its queue, priority and target worker.

    None if it is not queued. The place of one that is where it should be does not change.
    """

    def ask(queue_id: UUID) -> Steps[Moved | None]:
        rows: list[Any] = yield from _move.ask(job_id=job_id, queue_id=queue_id, to=to)
        return rows[0] if rows else None

    done = yield from in_turn(job_id, ask)
    return done


move = Verb(move_steps)
