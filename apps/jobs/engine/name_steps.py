"""Keep the local names of a workflow's jobs."""

from collections.abc import Sequence
from uuid import UUID

from apps.sql import Statement

_name = Statement.beside(__file__, lambda job_id: job_id)


def name_steps(*, workflow_id: UUID, names: Sequence[str], ids: Sequence[UUID]) -> None:
    """Write down what a workflow calls each of its jobs."""
    _name(workflow_id=workflow_id, names=list(names), ids=" ".join([one.hex for one in ids]))
