"""A worker's process starts: it gets a session, and its predecessor loses its own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, Unpack
from uuid import UUID

from uuid_utils.compat import uuid7

from apps.errors import Fault, Taken
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


TAKEN = Fault("#/uid", "This worker name is taken.")

_worker = Statement.beside(__file__, _Worker, "register_worker")
_register = Statement.beside(__file__, Registered)


class About(TypedDict):
    """What a process says of itself. `lease_seconds` is how long it may be silent."""

    concurrency: int
    lease_seconds: float
    hostname: str
    pid: int
    version: NotRequired[str]
    queues: NotRequired[Sequence[UUID]]
    types: NotRequired[Sequence[str]]
    pools: NotRequired[Mapping[str, Any]]
    capabilities: NotRequired[Mapping[str, Any]]
    sample: NotRequired[str | None]  # a JSON text, as the heartbeat's


def register_steps(*, uid: str, organization_id: UUID | None = None, **about: Unpack[About]) -> Steps[Registered]:
    """Start a session of the worker `uid`. Raises Taken when another organization owns the name."""
    [worker] = yield from _worker.ask(id=uuid7(), uid=uid, organization_id=organization_id)
    if worker.organization_id != organization_id:
        raise Taken.by(TAKEN)
    [registered] = yield from _register.ask(
        session_id=uuid7(),
        worker_id=worker.id,
        lease_seconds=about["lease_seconds"],
        concurrency=about["concurrency"],
        hostname=about["hostname"],
        pid=about["pid"],
        version=about.get("version", ""),
        queues=list(about.get("queues", ())),
        types=list(about.get("types", ())),
        pools=json.dumps(about.get("pools", {})),
        capabilities=_text(about.get("capabilities")),
        sample=about.get("sample"),
    )
    return registered


def _text(said: Mapping[str, Any] | None) -> str | None:
    return json.dumps(said) if said else None


register = Verb(register_steps)
