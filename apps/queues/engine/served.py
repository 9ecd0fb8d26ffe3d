"""Find queues by their full names."""

from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Served:
    """A queue and its full name, organization/project/queue."""

    id: UUID
    name: str


served = Statement.beside(__file__, Served)
