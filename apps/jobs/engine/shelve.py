"""The common end of jobs that do not run: to today's shelf, with a reason and an event."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.jobs.states import Reason
from apps.sql import Statement, Steps


@dataclass(frozen=True, slots=True)
class Shelved:
    job_id: UUID
    has_dependents: bool


_shelve = Statement.beside(__file__, Shelved)


def shelve(*, ids: Sequence[UUID], reason: Reason) -> Steps[list[Shelved]]:
    """Cancel waiting jobs that the caller's transaction holds; the caller wakes their dependents."""
    return (yield from _shelve.ask(ids=list(ids), reason=reason.value))
