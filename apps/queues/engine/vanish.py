"""Deleted queues, and which of them nobody can have known otherwise any more."""

from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Deleted:
    """A queue that empties itself; `is_known` when every transaction has ended that may still put jobs there."""

    queue_id: UUID
    is_known: bool


vanish_mark = Statement.beside(__file__, lambda queue_id: queue_id, "vanish_mark")
vanish_due = Statement.beside(__file__, Deleted, "vanish_due")
