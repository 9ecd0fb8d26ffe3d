"""What the database says of folders that workers keep for jobs and workflows."""

from typing import NamedTuple
from uuid import UUID

from apps.sql import Statement


class Over(NamedTuple):
    """A folder that nobody needs any more: of a workflow's generation, or (None) of a job."""

    id: UUID
    generation: int | None


over = Statement.beside(__file__, Over)
generation_of = Statement.beside(__file__, int, "workspaces_generation")
