"""What people do with queues and retry policies; each verb changes and records in one transaction."""

from apps.queues.services.policies import create_policy, delete_policy, update_policy
from apps.queues.services.queues import create, delete, pause, resume, update

__all__ = ["create", "create_policy", "delete", "delete_policy", "pause", "resume", "update", "update_policy"]
