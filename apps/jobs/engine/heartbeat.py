"""A session says that it lives, and hears which of its jobs are to stop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Told:
    """What a running job last said of its progress."""

    job_id: UUID
    done: int
    total: int | None = None
    stage: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    verdict: str
    job_id: UUID | None
    fence: int | None


@dataclass(frozen=True, slots=True)
class Beat:
    """The answer to a heartbeat, as (job, fence) pairs.

    `alive` False: this session was fenced; nothing it reports will count. `drain`: an operator
    wants it to stop claiming. `unknown`: jobs the database gives to this session that it did not name.
    """

    alive: bool
    drain: bool
    cancel: frozenset[tuple[UUID, int]]
    lost: frozenset[tuple[UUID, int]]
    unknown: frozenset[tuple[UUID, int]]


_heartbeat = Statement.beside(__file__, _Row)


def heartbeat_steps(
    *,
    session_id: UUID,
    held: Mapping[UUID, int],
    told: Sequence[Told] = (),
    draining: bool = False,
    sample: str | None = None,
) -> Steps[Beat]:
    """Extend the lease of a session that holds these jobs (id → fence). `sample` is a JSON text."""
    rows: list[_Row] = yield from _heartbeat.ask(
        session_id=session_id,
        ids=list(held),
        fences=list(held.values()),
        told_ids=[one.job_id for one in told],
        stages=[one.stage for one in told],
        dones=[one.done for one in told],
        totals=[one.total for one in told],
        notes=[one.note for one in told],
        draining=draining,
        sample=sample,
    )
    return _sort(rows)


def _sort(rows: Sequence[_Row]) -> Beat:
    def of(verdict: str) -> frozenset[Any]:
        return frozenset((row.job_id, row.fence) for row in rows if row.verdict == verdict)

    verdict = next(row.verdict for row in rows if row.job_id is None)
    return Beat(
        alive=verdict != "fenced",
        drain=verdict == "drain",
        cancel=of("cancel"),
        lost=of("lost"),
        unknown=of("unknown"),
    )


heartbeat = Verb(heartbeat_steps)
