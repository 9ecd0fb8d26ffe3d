"""End the pauses whose time has come."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Lapsed:
    """A pause that ended by itself: of a queue, or of a job type of a project."""

    project_id: UUID
    organization_id: UUID
    queue_id: UUID | None
    type: str | None
    paused_until: datetime
    reason: str


lapse = Statement.beside(__file__, Lapsed)
