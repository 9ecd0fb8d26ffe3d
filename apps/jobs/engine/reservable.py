"""Look at what decides whether a reservation may begin, goes on, or is over."""

from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Standing:
    """How things stand with one reservation."""

    uid: str | None  # of its worker
    drained: bool
    is_there: bool  # a session of the worker lives, or nobody has given it up yet
    is_known: bool  # every claim that may not have seen it has ended
    foreign_jobs: int  # that still run on the worker
    elsewhere: int  # jobs of the workflow that still run on others
    running: int  # … and wherever
    is_live: bool  # the workflow has jobs that have not ended


_standing = Statement.beside(__file__, Standing)
_worker = Statement.beside(__file__, lambda worker_id: worker_id, "reservable_worker")


def standing(*, reservation_id: UUID) -> Standing:
    [found] = _standing(reservation_id=reservation_id)
    return found


def free_worker(*, organization_id: UUID, queues: list[UUID]) -> UUID | None:
    """A worker that could be reserved now; its row is held."""
    found: list[UUID] = _worker(organization_id=organization_id, queues=queues)
    return found[0] if found else None
