"""The worker's heart: claims, heartbeats, reports; the only part of a worker that talks to the queue's tables."""

from apps.runtime.supervisor import pool
from apps.runtime.supervisor.options import Options
from apps.runtime.supervisor.supervisor import ExitCode, Supervisor

__all__ = ["ExitCode", "Options", "Supervisor", "pool"]
