"""What a claim that found nothing waits for. The door that holds such claims open (consumers) is told with it."""

import math
from dataclasses import dataclass, field
from uuid import UUID

WISH = "fencepost.wish"  # where it stands in a request's scope


@dataclass(slots=True)
class Wish:
    """Filled in by a claim; `seconds` 0: it does not wait."""

    seconds: float = 0.0
    session_id: UUID | None = None
    reservation_id: UUID | None = None  # whose alone its worker is: it takes nothing of the open line
    queues: frozenset[UUID] = frozenset()
    types: frozenset[str] = frozenset()
    looked: bool = False  # it may take jobs and found none, so that others who ask for the same need not look
    token_in: float = math.inf  # seconds until a queue with a rate admits another job
    more: int = 0  # jobs that it saw and did not take
    jobs: list[tuple[UUID, int]] = field(default_factory=list)  # what it took, each with its fence

    @property
    def kin(self) -> tuple[frozenset[UUID], frozenset[str], bool, UUID | None]:
        """Claims that wait for the same; those whose sessions are full, drain or are reserved wait apart."""
        return self.queues, self.types, self.looked or bool(self.jobs), self.reservation_id
