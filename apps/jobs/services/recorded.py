"""What operators did to one job, written down."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from apps.audit.record import Actor, record
from apps.jobs.selectors import organization_of


def recorded(job_id: UUID, actor: Actor, action: str, **facts: Mapping[str, Any] | None) -> None:
    """Add the audit entry of a change to a job; `before` and `after` say what changed."""
    record(
        actor=actor,
        organization_id=organization_of(job_id),
        action=action,
        target_type="job",
        target_id=job_id,
        **facts,
    )
