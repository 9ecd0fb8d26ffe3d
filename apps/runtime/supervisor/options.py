"""How one worker is to run: the flags of runworker, each of which has its variable in the settings."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.runtime.supervisor.pool import PoolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Times in seconds. Empty `queues` serve every queue, empty `types` every type there is a handler for."""

    queues: Sequence[str] = ()
    types: Sequence[str] = ()
    name: str = field(default_factory=lambda: settings.WORKER_NAME or default_name())
    concurrency: int = 10
    processes: int = 0
    jobs_per_process: int = 0
    memory_per_process: int = 0  # MiB
    pools: Sequence[PoolSpec] = ()
    lease: float = 30.0
    heartbeat: float = 10.0
    poll_interval: float = 1.0
    grace: float = 30.0
    cancel_grace: float = 5.0  # until a cancelled handler is ended by force
    scheduler: bool = True
    poll_only: bool = False
    burst: bool = False
    health_file: str = ""
    health_port: int = 0
    health_seconds: float = 30.0
    version: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict)  # what its machine can do

    @property
    def slots(self) -> int:
        """Jobs at once, over all pools."""
        return self.concurrency + sum(pool.slots for pool in self.pools)


def default_name() -> str:
    """A name that is the same after a restart here and differs elsewhere: host and folder."""
    return f"{socket.gethostname()}:{Path.cwd().name}:{os.getuid()}"[:128]
