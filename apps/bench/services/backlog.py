"""Who claims in a benchmark, and what waits for it."""

import os
from typing import Any
from uuid import UUID

from apps.bench.services.records import TYPE, payload
from apps.jobs import services
from apps.queues.models import Queue
from apps.workers.engine.register import register


def session(concurrency: int, *, uid: str = "bench") -> UUID:
    """Register a session that lives as long as any benchmark."""
    return register(
        uid=uid, concurrency=concurrency, lease_seconds=86_400.0, hostname="bench", pid=os.getpid()
    ).session_id


def backlog(queue: Queue, jobs: int, **fields: Any) -> None:
    """Submit so many jobs in batches of a thousand."""
    for start in range(0, jobs, 1000):
        batch = [{"type": TYPE, "payload": payload(), **fields} for _ in range(min(1000, jobs - start))]
        services.submit_batch(queue=queue, jobs=batch)
