"""What people do with queues and retry policies; each verb changes and records in one transaction."""

from apps.queues.services.breakers import close_breaker, judge_probe, open_breaker, trip_breaker
from apps.queues.services.policies import create_policy, delete_policy, update_policy
from apps.queues.services.queues import create, delete, pause, resume, update
from apps.queues.services.types import end_pauses, pause_type, resume_type

__all__ = [
    "close_breaker",
    "create",
    "create_policy",
    "delete",
    "delete_policy",
    "end_pauses",
    "judge_probe",
    "open_breaker",
    "pause",
    "pause_type",
    "resume",
    "resume_type",
    "trip_breaker",
    "update",
    "update_policy",
]
