"""A worker's process starts: it gets a session, and its predecessor loses its own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from apps.errors import Conflict
from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Registered:
    """The new session, and how many earlier ones of the same worker it fenced."""

    session_id: UUID
    fenced: int


@dataclass(frozen=True, slots=True)
class _Worker:
    id: UUID
    organization_id: UUID | None


_worker = Statement.beside(__file__, _Worker, "register_worker")
_register = Statement.beside(__file__, Registered)


def register_steps(
    *,
    uid: str,
    concurrency: int,
    lease_seconds: float,
    hostname: str,
    pid: int,
    version: str = "",
    queues: Sequence[UUID] = (),
    types: Sequence[str] = (),
    pools: Mapping[str, Any] | None = None,
    capabilities: Mapping[str, Any] | None = None,
    sample: Mapping[str, Any] | None = None,
    organization_id: UUID | None = None,
) -> Steps[Registered]:
    """Start a session of the worker `uid`. Raises Conflict when another organization owns the name."""
    [worker] = yield from _worker.ask(id=uuid7(), uid=uid, organization_id=organization_id)
    if worker.organization_id != organization_id:
        raise Conflict("This worker name is taken.")
    [registered] = yield from _register.ask(
        session_id=uuid7(),
        worker_id=worker.id,
        lease_seconds=lease_seconds,
        concurrency=concurrency,
        hostname=hostname,
        pid=pid,
        version=version,
        queues=list(queues),
        types=list(types),
        pools=json.dumps(pools or {}),
        capabilities=json.dumps(capabilities) if capabilities else None,
        sample=json.dumps(sample) if sample else None,
    )
    return registered


register = Verb(register_steps)
