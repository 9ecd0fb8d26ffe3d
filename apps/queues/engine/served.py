"""Find queues by their full names."""

from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Served:
    """A queue, its full name, organization/project/queue, and its share of slots."""

    id: UUID
    name: str
    weight: int


served = Statement.beside(__file__, Served)
