"""What people do with queues and retry policies; each verb changes and records in one transaction."""

from apps.queues.services.policies import create_policy, delete_policy, update_policy
from apps.queues.services.queues import create, delete, pause, resume, update
from apps.queues.services.types import end_pauses, pause_type, resume_type

__all__ = [
    "create",
    "create_policy",
    "delete",
    "delete_policy",
    "end_pauses",
    "pause",
    "pause_type",
    "resume",
    "resume_type",
    "update",
    "update_policy",
]
