"""Which queues with limits can be claimed from."""

from dataclasses import dataclass
from uuid import UUID

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Admitting:
    """A queue with limits that has work; `wait_seconds` > 0: its next token comes so much later.

    `roomy`: it is claimed from by claim_roomy, else by claim_gated. `types`: of those asked about, what waits in the
    open line; some, unless it is a session's own jobs that are asked for too.
    """

    queue_id: UUID
    wait_seconds: float
    roomy: bool
    types: list[str]


gates = Statement.beside(__file__, Admitting)
